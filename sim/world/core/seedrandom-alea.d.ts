/** The one generator of seedrandom that is used here; its own typings cover the package's root only. */
declare module 'seedrandom/lib/alea.js' {
  interface Prng {
    /** A number in [0, 1) with 32 bits of resolution. */
    (): number;
    /** A signed 32-bit integer. */
    int32(): number;
  }
  export default function alea(seed: string): Prng;
}
