import { describe, expect, test } from 'vitest';
import { dataplaneBootstrap } from '../../../../../../src/domains/health/compose/dataplane/bootstrap.ts';
import type { JsonObject } from '../../../../../../src/model/text/json.ts';

type Request = Parameters<typeof dataplaneBootstrap>[0];
type Xds = Request['declared']['xds'];

const spec = { networking: { address: '10.0.0.4' } };

async function made(xds: Xds, more: Partial<Request> = {}, own: JsonObject = spec) {
  const declared = { mesh: 'default', name: 'db', spec: own, xds };
  const request = { declared, api: 'https://relay.example.com', tokenFile: 'db.token', caFile: 'ca.crt', ...more };
  const { bootstrap, warnings } = await dataplaneBootstrap({ cwd: '/work', env: {}, ...request });
  return { warnings, text: JSON.stringify(bootstrap) };
}

const socket = (address: string, port: number): string =>
  JSON.stringify({ socket_address: { address, port_value: port } });

describe('the server that an Envoy connects to', () => {
  test.each([
    ['10.0.0.1', 'https://relay.example.com', '10.0.0.1'],
    ['0.0.0.0', 'https://relay.example.com', 'relay.example.com'],
    ['::', 'https://[2001:db8::1]:9980', '2001:db8::1'],
  ])('xds at %s, the API at %s: %s', async (address, api, expected) => {
    expect((await made({ address, port: 5678, tls: true }, { api })).text).toContain(socket(expected, 5678));
  });

  test('is refused if it serves no Envoys', async () => {
    await expect(made(null)).rejects.toThrow('the server serves no Envoys: start it with --xds');
  });

  test('is refused without TLS on another machine', async () => {
    await expect(made({ address: '0.0.0.0', port: 5678, tls: false })).rejects.toThrow(
      'without TLS at relay.example.com:5678: only an Envoy on its own machine may connect',
    );
  });
});

describe('how they trust each other', () => {
  test('files are named by their absolute paths', async () => {
    const { text } = await made({ address: '10.0.0.1', port: 5678, tls: true });
    expect(text).toContain('{"filename":"/work/db.token"}');
    expect(text).toContain('{"filename":"/work/ca.crt"}');
  });

  test('a token is needed', async () => {
    await expect(made({ address: '10.0.0.1', port: 5678, tls: true }, { tokenFile: undefined })).rejects.toThrow(
      'the server asks for the token of default/db: give --token-file',
    );
  });

  test('the file of the authorities of the system may be named', async () => {
    const more = { caFile: undefined, env: { SSL_CERT_FILE: '/etc/own.pem' } };
    expect((await made({ address: '10.0.0.1', port: 5678, tls: true }, more)).text).toContain('"/etc/own.pem"');
  });

  test('without TLS the given files are not used, and warnings say so', async () => {
    const { text, warnings } = await made({ address: '127.0.0.1', port: 5678, tls: false });
    expect(text).not.toMatch(/filename|transport_socket|credential/);
    expect(warnings).toEqual([
      '--token-file is not used: the server has no TLS',
      '--ca-file is not used: the server has no TLS',
    ]);
  });
});

describe('an address that is a host name', () => {
  const networking = { inbound: [{ port: 1, servicePort: 80, tags: { 'kuma.io/service': 'a' } }] };

  test('is resolved, because Envoy listens at IP addresses only', async () => {
    const own = { networking: { ...networking, address: 'localhost' } };
    const { text } = await made({ address: '10.0.0.1', port: 5678, tls: true }, {}, own);
    expect(text).toMatch(/"name":"inbound:(127\.0\.0\.1|::1):1"/);
  });

  test('is refused if it cannot be', async () => {
    const own = { networking: { ...networking, address: 'db.invalid' } };
    await expect(made({ address: '10.0.0.1', port: 5678, tls: true }, {}, own)).rejects.toThrow(
      'the address db.invalid of the Dataplane cannot be resolved',
    );
  });
});
