import { createPrivateKey, X509Certificate } from 'node:crypto';
import { type Authorities, BACKDATE_MS, parseAuthorities } from '../../../../adapters/tls/own-authority.ts';

/** Certificates of a webhook: the authorities that callers are told to trust, and what is served. */
export interface WebhookTrust {
  /** The oldest first. */
  readonly authorities: Authorities;
  /** Since when the API server was told of an authority, in milliseconds since 1970, by fingerprint. */
  readonly announced: Readonly<Record<string, number>>;
  readonly served?: ServedCertificate;
}

/** PEM texts. */
export interface ServedCertificate {
  readonly certificate: string;
  readonly key: string;
}

export interface WebhookTrustOptions {
  /** Life of an authority in milliseconds. A certificate lives for a quarter of it. */
  readonly caLifeMs: number;
  /** DNS names of the webhook. */
  readonly names: readonly string[];
}

export const NO_TRUST: WebhookTrust = { authorities: [], announced: {} };

/** Authorities and certificates are replaced after this part of their life. */
const RENEWED_AFTER = 2 / 3;
/** The longest time that API servers take to hear of a new authority. */
const PROPAGATION_MS = 60_000;

/**
 * The certificates at `now` (milliseconds since 1970): with a new authority and a new certificate where one is due. The
 * certificate is signed by the newest authority that every API server knows by now; the first one of all, by the only one there
 * is. Returns the given value if nothing is due.
 */
export async function renewTrust(
  trust: WebhookTrust,
  now: number,
  options: WebhookTrustOptions,
): Promise<WebhookTrust> {
  const { caLifeMs, names } = options;
  const valid = trust.authorities.filter(({ expiresAt }) => expiresAt > now);
  const newest = valid.at(-1);
  const isDue = newest?.key === undefined || now >= newest.since + RENEWED_AFTER * (newest.expiresAt - newest.since);
  const authorities = isDue ? [...valid, ...(await makeAuthority(now, caLifeMs))] : valid;
  const known = authorities.filter(
    ({ key, fingerprint }) => key !== undefined && isKnown(trust.announced[fingerprint], now, caLifeMs),
  );
  const signer = known.at(-1) ?? authorities.find(({ key }) => key !== undefined);
  if (signer?.key === undefined) throw new Error('no certificate authority of the webhook can sign');
  const isGood = trust.served !== undefined && isServable(trust.served, signer, names, now);
  if (isGood && authorities.length === trust.authorities.length && !isDue) return trust;
  const { issueServerCertificate } = await import('../../../../adapters/tls/x509.ts');
  const issue = async (): Promise<ServedCertificate> => {
    const files = { ca: Buffer.from(signer.certificate), caKey: Buffer.from(signer.key ?? '') };
    const validity = { validFrom: now - BACKDATE_MS, validUntil: now + caLifeMs / 4 };
    const { certificate, key } = await issueServerCertificate(files, {
      names,
      ips: [],
      ...validity,
      commonName: 'fleetrelay webhook',
    });
    return { certificate: Buffer.from(certificate).toString('utf8'), key: Buffer.from(key).toString('utf8') };
  };
  const announced = Object.entries(trust.announced).filter(([fingerprint]) =>
    authorities.some((authority) => authority.fingerprint === fingerprint),
  );
  return {
    authorities,
    announced: Object.fromEntries(announced),
    served: isGood && trust.served !== undefined ? trust.served : await issue(),
  };
}

/** After API servers were told of all authorities: the trust with the time of this. The given value if nothing is new. */
export function withAnnounced(trust: WebhookTrust, now: number): WebhookTrust {
  const fresh = trust.authorities.filter(({ fingerprint }) => trust.announced[fingerprint] === undefined);
  if (fresh.length === 0) return trust;
  const times = Object.fromEntries(fresh.map(({ fingerprint }) => [fingerprint, now]));
  return { ...trust, announced: { ...trust.announced, ...times } };
}

function isKnown(since: number | undefined, now: number, caLifeMs: number): boolean {
  return since !== undefined && now - since >= Math.min(PROPAGATION_MS, caLifeMs / 12);
}

async function makeAuthority(now: number, lifeMs: number): Promise<Authorities> {
  const { createAuthority } = await import('../../../../adapters/tls/x509.ts');
  const { ca, caKey } = await createAuthority(
    { validFrom: now - BACKDATE_MS, validUntil: now + lifeMs },
    undefined,
    'fleetrelay webhook CA',
  );
  return parseAuthorities(Buffer.from(ca).toString('utf8'), Buffer.from(caKey).toString('utf8'));
}

/** Whether a certificate can be served now, and need not be replaced yet. A damaged one cannot. */
function isServable(
  { certificate, key }: ServedCertificate,
  signer: Authorities[number],
  names: readonly string[],
  now: number,
): boolean {
  if (pairProblem({ certificate, key }) !== undefined) return false;
  const parsed = new X509Certificate(certificate);
  const begin = parsed.validFromDate.getTime() + BACKDATE_MS;
  const end = parsed.validToDate.getTime();
  // No certificate outlives its authority: then a new one would gain nothing.
  const lastsAsLongAsItCan = now < begin + RENEWED_AFTER * (end - begin) || end >= signer.expiresAt - 1000;
  return (
    end > now &&
    lastsAsLongAsItCan &&
    parsed.verify(new X509Certificate(signer.certificate).publicKey) &&
    names.every((name) => parsed.checkHost(name) !== undefined)
  );
}

/** Why certificate and key cannot be served, for people; undefined: they can. */
export function pairProblem({ certificate, key }: ServedCertificate): string | undefined {
  try {
    const isPair = new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key));
    return isPair ? undefined : 'the key is not the key of the certificate';
  } catch {
    return 'certificate or key are not in PEM form';
  }
}
