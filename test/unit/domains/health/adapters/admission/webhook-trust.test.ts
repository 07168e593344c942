import { X509Certificate } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  NO_TRUST,
  renewTrust,
  type WebhookTrust,
  withAnnounced,
} from '../../../../../../src/domains/health/adapters/admission/webhook-trust.ts';

const START = Date.UTC(2026, 0, 1);
const HOUR = 60 * 60 * 1000;
const LIFE = 24 * HOUR;
const names = ['fleetrelay-agent-webhook.fleetrelay.svc', 'fleetrelay-agent-webhook.fleetrelay.svc.cluster.local'];
const renew = (trust: WebhookTrust, hours: number) =>
  renewTrust(trust, START + hours * HOUR, { caLifeMs: LIFE, names });

function served({ served: pair }: WebhookTrust): X509Certificate {
  if (pair === undefined) throw new Error('nothing is served');
  return new X509Certificate(pair.certificate);
}

/** Which authority has signed what is served. */
function signer(trust: WebhookTrust): string | undefined {
  const leaf = served(trust);
  return trust.authorities.find(({ certificate }) => leaf.verify(new X509Certificate(certificate).publicKey))
    ?.fingerprint;
}

describe('the certificates of a webhook', () => {
  let first: WebhookTrust;
  beforeAll(async () => {
    first = await renew(NO_TRUST, 0);
  });

  it('begin with one authority and a certificate for the names of the Service', () => {
    expect(first.authorities).toHaveLength(1);
    expect(signer(first)).toBe(first.authorities[0]?.fingerprint);
    for (const name of names) expect(served(first).checkHost(name)).toBe(name);
    expect(served(first).checkHost('other.fleetrelay.svc')).toBeUndefined();
  });

  it('stay as they are until two thirds of the life of the certificate', async () => {
    const announced = withAnnounced(first, START);
    expect(withAnnounced(announced, START + HOUR)).toBe(announced);
    expect(await renew(announced, 3.9)).toBe(announced);
    const renewed = await renew(announced, 4.1);
    expect(renewed.authorities).toEqual(announced.authorities);
    expect(served(renewed).fingerprint256).not.toBe(served(announced).fingerprint256);
    expect(signer(renewed)).toBe(signer(announced));
  });

  it('have a second authority after two thirds of the life of the first, which signs once it was told', async () => {
    const announced = withAnnounced(first, START);
    expect((await renew(announced, 15.9)).authorities).toHaveLength(1);
    const both = await renew(announced, 16.1);
    const [old, next] = both.authorities.map(({ fingerprint }) => fingerprint);
    expect(next).toBeDefined();
    expect(signer(both)).toBe(old);
    // It was not published: it does not sign, however long that takes.
    expect(signer(await renew(both, 23))).toBe(old);
    const told = withAnnounced(both, START + 17 * HOUR);
    expect(signer(await renewTrust(told, START + 17 * HOUR + 59_000, { caLifeMs: LIFE, names }))).toBe(old);
    const later = await renewTrust(told, START + 17 * HOUR + 60_000, { caLifeMs: LIFE, names });
    expect(signer(later)).toBe(next);
    expect(later.authorities.map(({ fingerprint }) => fingerprint)).toEqual([old, next]);
    const alone = await renew(later, 24.1);
    expect(alone.authorities.map(({ fingerprint }) => fingerprint)).toEqual([next]);
    expect(Object.keys(alone.announced)).toEqual([next]);
  });

  it('begin anew when all have expired, also if the last was never published', async () => {
    const late = await renew(first, 100);
    expect(late.authorities).toHaveLength(1);
    expect(late.authorities[0]?.fingerprint).not.toBe(first.authorities[0]?.fingerprint);
    expect(signer(late)).toBe(late.authorities[0]?.fingerprint);
    expect(served(late).validToDate.getTime()).toBeGreaterThan(START + 100 * HOUR);
  });

  it('replace a certificate that is damaged, of another key, or for other names', async () => {
    const announced = withAnnounced(first, START);
    const other = await renew(NO_TRUST, 0);
    const pair = announced.served ?? { certificate: '', key: '' };
    for (const bad of [
      { ...pair, certificate: 'damaged' },
      { ...pair, key: other.served?.key ?? '' },
    ]) {
      const mended = await renew({ ...announced, served: bad }, 1);
      expect(signer(mended)).toBe(signer(announced));
      expect(mended.served).not.toEqual(bad);
    }
    const renamed = await renewTrust(announced, START, { caLifeMs: LIFE, names: ['hook.relay.svc'] });
    expect(served(renamed).checkHost('hook.relay.svc')).toBe('hook.relay.svc');
  });

  it('do not renew a certificate again and again that ends with its authority', async () => {
    const told = withAnnounced(first, START);
    // The second authority is never announced, so that the first one signs until its end.
    let trust = await renew(told, 20);
    const pairs = new Set<string>();
    for (let minute = 0; minute < 235; minute += 5) {
      trust = await renew(trust, 20 + minute / 60);
      pairs.add(served(trust).fingerprint256);
    }
    expect(pairs.size).toBe(1);
  });
});
