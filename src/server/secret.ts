import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

/** Compares two secrets in constant time; hashing first hides their lengths as well. */
export function secretsEqual(a: string, b: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text, 'utf8').digest();
  return timingSafeEqual(digest(a), digest(b));
}

/** The headers by which git hosts prove that they know a hook's secret. */
export interface HookProof {
  /** `X-Hub-Signature-256: sha256=HEX` (GitHub, Gitea, Forgejo). */
  readonly hubSignature: string | undefined;
  /** `X-Gitea-Signature: HEX`. */
  readonly giteaSignature: string | undefined;
  /** `X-Gitlab-Token`: the secret itself. */
  readonly gitlabToken: string | undefined;
}

/** No header of a hook call is there that could prove anything. */
export function hasNoProof(proof: HookProof): boolean {
  return proof.hubSignature === undefined && proof.giteaSignature === undefined && proof.gitlabToken === undefined;
}

/**
 * True if one of the headers proves knowledge of `secret` for exactly these body bytes (GitLab signs no body).
 * An empty secret proves nothing.
 */
export function hookProofMatches(proof: HookProof, body: Uint8Array, secret: string): boolean {
  if (secret === '') return false;
  const expected = createHmac('sha256', secret).update(body).digest('hex');
  return (
    (proof.hubSignature !== undefined && secretsEqual(proof.hubSignature.toLowerCase(), `sha256=${expected}`)) ||
    (proof.giteaSignature !== undefined && secretsEqual(proof.giteaSignature.toLowerCase(), expected)) ||
    (proof.gitlabToken !== undefined && secretsEqual(proof.gitlabToken, secret))
  );
}
