/** Connections that the doors refused before they were any: TLS that was not agreed on. */
import type { Io } from '../io/io.ts';
import type { FamilySource } from '../metrics/family.ts';

export function handshakeFamily({ failedHandshakes }: Pick<Io, 'failedHandshakes'>): FamilySource {
  return {
    name: 'svc_tls_handshake_failures_total',
    help: 'TLS handshakes that failed, with clients and with peers: plain text, no certificate or one not accepted.',
    type: 'counter',
    labels: ['with'],
    collect: () => {
      const { clients, peers } = failedHandshakes();
      return [
        { labels: { with: 'clients' }, value: clients },
        { labels: { with: 'peers' }, value: peers },
      ];
    },
  };
}
