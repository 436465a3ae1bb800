/** The one generator of seedrandom that the world uses; seedrandom's own typings cover only the package's root. */
declare module 'seedrandom/lib/alea.js' {
  interface Prng {
    /** A number in [0, 1) with 32 bits of resolution. */
    (): number;
    /** A signed 32-bit integer. */
    int32(): number;
  }
  export default function alea(seed: string): Prng;
}
