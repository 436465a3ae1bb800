/** Types for the parser, which has none. Used in tests only. */
declare module 'parse-prometheus-text-format' {
  interface ParsedFamily {
    readonly name: string;
    readonly help: string;
    readonly type: string;
    readonly metrics?: readonly {
      readonly value?: string;
      readonly labels?: Readonly<Record<string, string>>;
    }[];
  }
  export default function parsePrometheusTextFormat(text: string): readonly ParsedFamily[];
}
