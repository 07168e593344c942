import type { BootstrapRequest } from '../../src/domains/health/xds/bootstrap/bootstrap.ts';
import type { JsonObject } from '../../src/model/text/json.ts';

const server = { address: '192.0.2.10', port: 5678 };
const tags = (service: string): JsonObject => ({ 'kuma.io/service': service });

/** What bootstraps are made of, by a name for each case. Files are in the folder. */
export function bootstrapRequests(folder: string): Readonly<Record<string, BootstrapRequest>> {
  const trust = { tokenFile: `${folder}/token`, caFile: `${folder}/ca.crt` };
  const request = (name: string, spec: JsonObject, more: Partial<BootstrapRequest> = {}): BootstrapRequest => ({
    ...{ mesh: 'default', name, server, trust, spec },
    ...more,
  });
  return {
    inbounds: request('db', {
      networking: {
        ...{ address: '10.0.0.4', advertisedAddress: '203.0.113.4', admin: { port: 9902 } },
        inbound: [
          { port: 5432, servicePort: 15432, tags: tags('postgres') },
          { port: 8080, address: '10.0.0.5', serviceAddress: '127.0.0.1', servicePort: 80, tags: tags('web') },
          // The same application behind another port.
          { port: 8081, serviceAddress: '127.0.0.1', servicePort: 80, tags: tags('web') },
        ],
      },
    }),
    outbounds: request(
      'web',
      {
        networking: {
          address: '10.0.0.6',
          outbound: [
            { port: 15432, tags: tags('postgres') },
            { port: 6379, address: '127.0.0.2', tags: tags('redis') },
            { port: 15433, tags: tags('postgres') },
          ],
        },
      },
      { server: { address: 'relay.example.com', port: 443 } },
    ),
    ipv6: request(
      'six',
      {
        networking: {
          address: '2001:db8::4',
          inbound: [{ port: 5432, serviceAddress: '::1', tags: tags('postgres') }],
          outbound: [{ port: 6379, address: '::1', tags: tags('redis') }],
        },
      },
      { server: { address: '2001:db8::10', port: 5678 } },
    ),
    gateway: request('edge', {
      networking: {
        ...{ address: '10.0.0.7', gateway: { tags: tags('edge') } },
        outbound: [{ port: 8080, tags: tags('web') }],
      },
    }),
    'virtual-probes': request('probed', {
      networking: {
        address: '10.0.0.8',
        inbound: [{ port: 8080, serviceAddress: '127.0.0.1', servicePort: 80, tags: tags('web') }],
      },
      probes: {
        port: 9000,
        endpoints: [
          { inboundPort: 80, inboundPath: '/healthz', path: '/80/healthz' },
          { inboundPort: 9090, inboundPath: '/ready?full=1', path: '/9090/ready' },
        ],
      },
    }),
    insecure: request(
      'db',
      { networking: { address: '10.0.0.4', inbound: [{ port: 5432, servicePort: 15432, tags: tags('postgres') }] } },
      { server: { address: 'localhost', port: 5678 }, trust: undefined },
    ),
  };
}
