/** What the engine's own source says of the fields that it accepts, where no table of the engine lists them. */
import { readFileSync, readdirSync } from 'node:fs';

const engine = new URL('../../../engine/', import.meta.url);

/** The text of the modules of these folders, without their tests. */
function sourceOf(...folders: readonly string[]): string {
  return folders
    .flatMap((folder) => {
      const at = new URL(`${folder}/`, engine);
      const names = readdirSync(at, { recursive: true, encoding: 'utf8' }).filter(
        (name) => name.endsWith('.ts') && !/\.(test|fixture|contract)\.ts$/.test(name),
      );
      return names.sort().map((name) => readFileSync(new URL(name, at), 'utf8'));
    })
    .join('\n');
}

function found(source: string, form: RegExp): readonly string[] {
  return [...new Set([...source.matchAll(form)].map(([, name = '']) => name))].sort();
}

const http = sourceOf('api/http', 'api/stats');

/** The parameters of queries that handlers read. */
export function queryParameters(): readonly string[] {
  return found(
    http,
    /\b(?:query\.get|quorum|boolean|formOf)\((?:(?:request\.)?query, |request, )?'([a-z_]+)'/g,
  );
}

/** Calls that read a parameter whose name this cannot tell: all must be in helpers that are given the name. */
export function unnamedQueryParameters(): readonly string[] {
  return found(http, /(query\.(?:get|getAll|has)\((?!')[^)]*\))/g);
}

/** The headers that handlers read, in lower case. */
export function headersRead(): readonly string[] {
  const source = `${http}\n${sourceOf('auth')}\n${readFileSync(new URL('api/http-guard.ts', engine), 'utf8')}\n${readFileSync(new URL('node/observers.ts', engine), 'utf8')}`;
  const named = found(source, /\bheaders\??\.?\[?'?([a-z][a-z-]+)'\]/g);
  const dotted = found(source, /(?:headers\.|\{ )(host|authorization|origin|cookie)(?: \})?\b/g);
  const given = found(source, /\b(?:base64|context)Header\(request, '([A-Za-z-]+)'/g);
  const families = found(`${source}\n${sourceOf('replica/object')}`, /Prefix = '(x-riak-[a-z-]+)'/g);
  return [...new Set([...named, ...dotted, ...given.map((name) => name.toLowerCase()), ...families])].sort();
}

/** The fields of JSON that a source lists where it refuses others. */
export function listedFields(path: string, form: RegExp): readonly string[] {
  const source = readFileSync(new URL(path, engine), 'utf8');
  const lists = [...source.matchAll(form)].map(([, list = '']) => list).join(' ');
  return found(lists, /'([a-z_]+)'/g);
}

/** Words in capitals, in the source of Redis commands. */
export function wordsOfCommands(): readonly string[] {
  const source = sourceOf('api/redis').replaceAll(/\/\*[^]*?\*\/|^\s*\/\/.*$/gm, '');
  return found(source, /'([A-Z][A-Z-]+)'/g);
}
