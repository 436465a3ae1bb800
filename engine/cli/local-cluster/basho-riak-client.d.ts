/** Types of the part of Riak's Node.js client that the tests use. The package has no types of its own. */
declare module 'basho-riak-client' {
  type Done<T> = (error: Error | string | null, result: T) => void;

  interface RiakObject {
    setContentType(type: string): void;
    setValue(value: string | Buffer): void;
    setUserMeta(pairs: readonly { readonly key: string; readonly value: string }[]): void;
    setLinks(links: readonly { readonly bucket: string; readonly key: string; readonly tag: string }[]): void;
    readonly contentType: string;
    readonly value: Buffer;
    readonly userMeta: readonly { readonly key: string; readonly value: string }[];
    readonly links: readonly { readonly bucket: string; readonly key: string; readonly tag: string }[];
  }

  interface Fetched {
    readonly isNotFound: boolean;
    readonly vclock: Buffer | null;
    readonly values: readonly RiakObject[];
  }

  interface Stored {
    readonly generatedKey: string | null;
    readonly vclock: Buffer | null;
    readonly values: readonly RiakObject[];
  }

  interface BucketProps {
    readonly nVal: number;
    readonly allowMult: boolean;
    readonly lastWriteWins: boolean;
    readonly notFoundOk: boolean;
    readonly r: number;
    readonly w: number;
    readonly pw: number;
    readonly chashKeyfun: { readonly mod: string; readonly fun: string };
  }

  interface Results {
    readonly storeValue: Stored;
    readonly fetchValue: Fetched;
    readonly deleteValue: boolean;
    readonly fetchBucketProps: BucketProps;
    readonly fetchBucketTypeProps: BucketProps;
    readonly storeBucketProps: boolean;
    readonly resetBucketProps: boolean;
    readonly listKeys: { readonly keys: readonly string[]; readonly done: boolean };
    readonly listBuckets: { readonly buckets: readonly string[]; readonly done: boolean };
    readonly fetchPreflist: {
      readonly preflist: readonly { readonly node: string; readonly primary: boolean }[];
    };
  }

  /** Results by phase, `phase_0` and so on. */
  type MapReduced = Readonly<Partial<Record<`phase_${number}`, readonly unknown[]>>> & {
    readonly done: boolean;
  };

  type Client = {
    mapReduce(query: string, done: Done<MapReduced>, stream: false): void;
    ping(done: Done<boolean>): void;
    stop(done: () => void): void;
  } & { [Call in keyof Results]: (options: object, done: Done<Results[Call]>) => void };

  const library: {
    readonly Client: new (addresses: readonly string[], done: Done<Client>) => Client;
    readonly Commands: { readonly KV: { readonly RiakObject: new () => RiakObject } };
  };
  export default library;
  export type { Client, MapReduced, Results };
}
