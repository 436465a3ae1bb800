declare module 'murmurhash3js-revisited' {
  interface Hasher {
    /** MurmurHash3 x86 32-bit of the bytes; an unsigned 32-bit integer. */
    hash32(bytes: Uint8Array, seed?: number): number;
    /** MurmurHash3 x86 128-bit of the bytes; 32 hexadecimal digits. */
    hash128(bytes: Uint8Array, seed?: number): string;
  }
  const library: { readonly x86: Hasher; inputValidation: boolean };
  export default library;
}
