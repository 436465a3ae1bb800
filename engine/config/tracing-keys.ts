/** The configuration keys of traces (OpenTelemetry), for the table of `keys.ts`. */
import type { KeyRows } from './config-key.ts';
import type { ValueKind } from './values.ts';
import { parsedText, plain } from './values.ts';

/** The path that OTLP over HTTP has for traces. */
const tracesPath = '/v1/traces';
const urlCharsMax = 2048;

/** The URL that spans are posted to. One without a path gets OTLP's. Undefined if the text is no such URL. */
function collectorUrl(given: string): string | undefined {
  if (given.length > urlCharsMax || !URL.canParse(given)) return undefined;
  const url = new URL(given);
  const isPlain = url.username === '' && url.password === '' && url.hash === '' && url.search === '';
  if (!isPlain || (url.protocol !== 'http:' && url.protocol !== 'https:')) return undefined;
  if (url.pathname === '/') url.pathname = tracesPath;
  return url.href;
}

const collector = parsedText(
  `a URL with http or https, without a user, a query or a fragment, of at most ${urlCharsMax} characters`,
  collectorUrl,
);

/** The collector's URL; `off` reads as undefined. */
const optionalCollector: ValueKind<string | undefined> = {
  allowed: `${collector.allowed}, or off`,
  read(given, path, report) {
    if (given === 'off') return { value: undefined };
    return collector.read(given, path, (at, problem) => report(at, `${problem}, or off`));
  },
};

/** A probability. */
const ratio = plain('a number from 0 to 1', (given) =>
  typeof given === 'number' && given >= 0 && given <= 1 ? { value: given } : undefined,
);

/** The rows. */
export const tracingKeys = {
  otelEndpoint: {
    kind: optionalCollector,
    fallback: 'off',
    trial: ['off', 'http://collector:4318/'],
    help: 'The OpenTelemetry collector that this node sends traces of requests to, by OTLP over HTTP (JSON); without a path, /v1/traces is added. Variables such as OTEL_EXPORTER_OTLP_ENDPOINT are not read.',
  },
  otelSampleRatio: {
    kind: ratio,
    fallback: 0.01,
    trial: [0.1, 1],
    help: 'Share of the requests that are traced, with otel_endpoint. A request over HTTP with a traceparent header is traced if its sampled flag is set, and not otherwise.',
  },
} as const satisfies KeyRows;
