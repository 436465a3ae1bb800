/** What clients of a credential were answered that an operator changed at a running node. Plain data. */

/** The credential gets another token, is limited to other buckets, or loses its role. */
export const credentialChanges = ['removed', 'limited', 'demoted'] as const;
/** How the credential is changed. */
export type CredentialChange = (typeof credentialChanges)[number];

/** One request of such a client. */
export interface CredentialAnswer {
  readonly node: string;
  readonly atUs: number;
  /** Protocol, connection and credential: `f1: pb, credential removed, open connection`. */
  readonly asked: string;
  /** `kept`: as `allowed`, and the open connection must not have ended. `silence`: a subscriber gets no message. */
  readonly expected: 'allowed' | 'refused' | 'kept' | 'silence';
  /** `done`, or the error's code; for a subscriber `message` or `silence`; undefined without an answer. */
  readonly answered: string | undefined;
  /** The node's incarnation was the same all the time. */
  readonly lived: boolean;
}
