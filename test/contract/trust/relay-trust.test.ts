import { X509Certificate } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { sealStore } from '../../../src/adapters/stores/sealed.ts';
import { createCertificateRequests } from '../../../src/adapters/tls/certificate-requests.ts';
import { AUTHORITY_KEY, createOwnAuthority } from '../../../src/adapters/tls/own-authority.ts';
import { openRelayTrust, type RelayTrust, type TrustOptions } from '../../../src/adapters/tls/relay-trust.ts';
import { must } from '../../../src/model/values/result.ts';
import type { SnapshotStore } from '../../../src/ports/snapshot-store.ts';
import { readPair } from '../../../src/relay/trust/certificates.ts';
import { createRecordingLog } from '../../support/agent-log.ts';
import { noProgram } from '../../support/programs.ts';
import { eventually } from '../../support/relay-poll.ts';
import { sealing } from '../../support/sealing.ts';
import { ensureServerCertificate } from '../../support/server-certificate.ts';
import { createSharedMemory } from '../../support/shared-memory-store.ts';
import { DAY_MS } from '../../support/test-authority.ts';
import { createTestCallers } from '../../support/test-callers.ts';
import { createVirtualClock, type VirtualClock } from '../../support/virtual-clock.ts';

const LIFE_MS = 90 * DAY_MS;
const issued = { type: 'issued', lifetimeSeconds: LIFE_MS / 1000 } as const;

let root: string;
let clock: VirtualClock;
/** How far the wall clock has jumped, in milliseconds. */
let jumped: number;
let log: ReturnType<typeof createRecordingLog>;
let trust: RelayTrust | undefined;
let changes: number;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'relay-trust-'));
  clock = createVirtualClock(Date.UTC(2026, 5, 1));
  jumped = 0;
  changes = 0;
  log = createRecordingLog();
});

afterEach(async () => {
  trust?.stop();
  await rm(root, { recursive: true });
});

const now = (): number => clock.now() + jumped;

async function open(options: Partial<TrustOptions> = {}, store?: SnapshotStore): Promise<RelayTrust> {
  const server = { type: 'generated', names: [] } as const;
  const given = { folder: join(root, 'trust'), server, clients: issued, ...options };
  const shared = store === undefined ? {} : { store };
  const opened = await openRelayTrust({ log, clock: { ...clock, now }, ...shared }, given);
  opened.material.watch(() => {
    changes += 1;
  });
  trust = opened;
  return opened;
}

/** Lets the server look once more, and waits for what is to be seen then. */
async function look(what: string, seen: () => boolean): Promise<void> {
  await clock.advance(10_000);
  await eventually(what, seen);
}

const shown = (): string => new X509Certificate(trust?.material.current().certificate ?? '').fingerprint256;
const said = (part: string): number => log.lines.filter(({ data }) => String(data.detail).includes(part)).length;
const warnings = (message: string): string[] =>
  log.lines.filter(({ text }) => text === `warn: ${message}`).map(({ data }) => String(data.what));

/** A certificate with its key and authority, as another issuer makes them; three files, as in a Secret. */
async function triple(name: string, at = now()): Promise<Record<'tls.crt' | 'tls.key' | 'ca.crt', Buffer>> {
  const dir = join(root, `made-${name}`);
  await ensureServerCertificate(dir, { names: [name], ips: [] }, at);
  const read = (file: string): Promise<Buffer> => readFile(join(dir, file));
  return { 'tls.crt': await read('tls.crt'), 'tls.key': await read('tls.key'), 'ca.crt': await read('ca.crt') };
}

describe('certificates that are made', () => {
  test('are there at once, and agents get theirs from the same authority', async () => {
    const { material, roots, authority, expiries } = await open();
    const server = new X509Certificate(material.current().certificate);
    const ca = new X509Certificate(roots.current());
    expect(server.verify(ca.publicKey)).toBe(true);
    expect(Buffer.from(material.current().clientRoots ?? '').toString()).toBe(roots.current());
    const { key, request } = await createCertificateRequests().create();
    const { publicKey } = must((await authority?.inspect(request)) ?? { ok: false, problem: 'there is no issuer' });
    const order = { publicKey, commonName: 'fleetrelay-agent', dnsName: 'east', uri: 'spiffe://f/x', validFrom: now() };
    const made = await authority?.issue(order);
    expect(made?.expiresAt).toBe(now() + LIFE_MS);
    const client = new X509Certificate(made?.certificate ?? '');
    expect(client.verify(ca.publicKey)).toBe(true);
    expect(must(readPair({ key, certificate: made?.certificate ?? '' })).names).toEqual(['east']);
    expect(expiries().map(({ what }) => what)).toEqual(['server', 'root', 'clientRoot']);
  });

  test('change while the server runs: the root is announced, then the certificate changes over, without a warning', async () => {
    const { roots, material } = await open();
    const first = shown();
    jumped = 280 * DAY_MS;
    await look('the successor is announced', () => changes === 1);
    expect(roots.current().match(/BEGIN/g)).toHaveLength(2);
    expect(shown()).toBe(first);
    jumped = 340 * DAY_MS;
    await look('the certificate is another', () => changes === 2);
    expect(shown()).not.toBe(first);
    expect(Buffer.from(material.current().clientRoots ?? '').toString()).toBe(roots.current());
    jumped = 370 * DAY_MS;
    await look('the old root is gone', () => changes === 3);
    expect(roots.current().match(/BEGIN/g)).toHaveLength(1);
    expect(log.lines.filter(({ text }) => text.startsWith('warn'))).toEqual([]);
  });

  test('for agents may be signed by an authority that was brought along', async () => {
    const files = await triple('callers');
    const dir = join(root, 'made-callers');
    const { authority, material, roots } = await open({
      clients: { ...issued, signing: { certFile: join(dir, 'ca.crt'), keyFile: join(dir, 'ca.key') } },
    });
    const { request } = await createCertificateRequests().create();
    const { publicKey } = must((await authority?.inspect(request)) ?? { ok: false, problem: 'there is no issuer' });
    const order = { publicKey, commonName: 'x', dnsName: 'east', uri: 'spiffe://f/x', validFrom: now() };
    const made = new X509Certificate((await authority?.issue(order))?.certificate ?? '');
    expect(made.verify(new X509Certificate(files['ca.crt']).publicKey)).toBe(true);
    expect(Buffer.from(material.current().clientRoots ?? '')).toEqual(files['ca.crt']);
    expect(roots.current()).not.toBe(files['ca.crt'].toString());
  });

  test('not by a certificate that may not sign', async () => {
    await triple('leaf');
    const dir = join(root, 'made-leaf');
    const signing = { certFile: join(dir, 'tls.crt'), keyFile: join(dir, 'tls.key') };
    await expect(open({ clients: { ...issued, signing } })).rejects.toThrow(/not the certificate of an authority/);
  });
});

test('a replica takes over shared authorities, and restores their lost record, at once and not only every ten seconds', async () => {
  const memory = createSharedMemory();
  const sealed = () => sealStore(memory.open(), [new Uint8Array(32).fill(1)], sealing);
  await open({}, sealed());
  jumped = 280 * DAY_MS;
  await createOwnAuthority(await mkdtemp(join(root, 'other-')), sealed()).refresh(now());
  await eventually('the successor is announced', () => changes === 1);
  memory.lose();
  await eventually('the record is written again', () => memory.keys().includes(AUTHORITY_KEY));
});

test.skipIf(noProgram('openssl'))(
  'an authority below another one is refused without that one: no caller could be believed',
  async () => {
    const callers = createTestCallers();
    const [, intermediate = ''] = callers.sign({ through: 'intermediate' }).certificate.split(/(?=-----BEGIN)/);
    const caFile = join(root, 'below.crt');
    await writeFile(caFile, intermediate);
    const clients = { type: 'given', caFile } as const;
    await expect(open({ clients })).rejects.toThrow(/below\.crt holds no root/);
    await writeFile(caFile, Buffer.concat([Buffer.from(intermediate), callers.roots]));
    expect((await open({ clients })).material.current().clientRoots).toBeDefined();
  },
);

describe('files that are managed outside', () => {
  let dir: string;

  beforeEach(async () => {
    dir = join(root, 'mounted');
    await mkdir(dir);
  });

  const server = () => ({
    type: 'files' as const,
    certFile: join(dir, 'tls.crt'),
    keyFile: join(dir, 'tls.key'),
    caFile: join(dir, 'ca.crt'),
  });
  const write = async (files: Partial<Awaited<ReturnType<typeof triple>>>): Promise<void> => {
    for (const [name, bytes] of Object.entries(files)) await writeFile(join(dir, name), bytes);
  };

  test('are taken over as Kubernetes swaps them', async () => {
    const mount = async (name: string): Promise<void> => {
      await mkdir(join(dir, `..${name}`));
      for (const [file, bytes] of Object.entries(await triple(name)))
        await writeFile(join(dir, `..${name}`, file), bytes);
      await symlink(`..${name}`, join(dir, '..data_tmp'));
      await rename(join(dir, '..data_tmp'), join(dir, '..data'));
    };
    await mount('one');
    for (const file of ['tls.crt', 'tls.key', 'ca.crt']) await symlink(`..data/${file}`, join(dir, file));
    const { roots } = await open({ server: server() });
    const before = [shown(), roots.current()];
    await mount('two');
    await look('they are taken over', () => changes === 1);
    expect(shown()).not.toBe(before[0]);
    expect(roots.current()).not.toBe(before[1]);
    await clock.advance(60_000);
    expect(changes).toBe(1);
  });

  test.each<[string, () => Promise<Partial<Awaited<ReturnType<typeof triple>>>>, string]>([
    ['half of which is there', async () => ({ 'tls.crt': (await triple('two'))['tls.crt'] }), 'is not the key of'],
    [
      'without the authority that goes with it',
      async () => ({ ...(await triple('two')), 'ca.crt': (await triple('three'))['ca.crt'] }),
      'is not signed by',
    ],
    [
      'that is cut off',
      async () => ({ ...(await triple('two')), 'tls.crt': Buffer.from('-----BEGIN CERTIFICATE-----\nMII') }),
      'holds no certificate',
    ],
    ['that is empty', async () => ({ 'tls.key': Buffer.alloc(0) }), 'is not the key of'],
    ['that has expired', () => triple('two', now() - 400 * DAY_MS), 'has expired'],
    ['that is not valid yet', () => triple('two', now() + 400 * DAY_MS), 'is not valid before'],
  ])(
    'a new triple %s is logged once, the old one stays in use, and a good one is taken',
    async (_what, spoiled, reason) => {
      await write(await triple('one'));
      await open({ server: server() });
      const before = shown();
      await write(await spoiled());
      await look('the reason is logged', () => said(reason) === 1);
      await clock.advance(60_000);
      expect([changes, shown(), said(reason)]).toEqual([0, before, 1]);
      await write(await triple('four'));
      await look('the good one is taken', () => changes === 1);
      expect(shown()).not.toBe(before);
    },
  );

  test('that are missing are reported, and nothing else happens', async () => {
    await write(await triple('one'));
    await open({ server: server() });
    await rm(join(dir, 'tls.key'));
    await look('the missing key is logged', () => said('tls.key is missing') === 1);
    expect(changes).toBe(0);
  });

  test('with the roots of agents are read again too, and a damaged one changes nothing', async () => {
    const roots = join(dir, 'clients.crt');
    const [one, two] = [await triple('one'), await triple('two')];
    await writeFile(roots, one['ca.crt']);
    const { material, authority } = await open({ clients: { type: 'given', caFile: roots } });
    expect(authority).toBeUndefined();
    await writeFile(roots, Buffer.concat([one['ca.crt'], two['ca.crt']]));
    await look('both are believed', () => changes === 1);
    expect(Buffer.from(material.current().clientRoots ?? '')).toEqual(Buffer.concat([one['ca.crt'], two['ca.crt']]));
    await writeFile(roots, 'nothing');
    await look('the empty bundle is logged', () => said('holds no certificate') === 1);
    expect(changes).toBe(1);
  });

  test('are warned of from thirty days before their end, once a day, and after it', async () => {
    await write(await triple('one'));
    await open({ server: server(), clients: undefined });
    const soon = 'relay: a certificate ends soon';
    jumped = 334 * DAY_MS;
    await clock.advance(60_000);
    expect(warnings(soon)).toEqual([]);
    jumped = 336 * DAY_MS;
    await look('it is warned', () => warnings(soon).length === 2);
    await clock.advance(60_000);
    expect(warnings(soon)).toEqual(['server', 'root']);
    jumped += DAY_MS;
    await look('it is warned again', () => warnings(soon).length === 4);
    jumped = 366 * DAY_MS;
    await look('it has ended', () => warnings('relay: a certificate has ended').length === 2);
    await look('the reason is logged', () => said('has expired') > 0);
    expect(said('has expired')).toBe(1);
    expect(trust?.expiries()).toMatchObject([{ what: 'server' }, { what: 'root' }]);
  });
});
