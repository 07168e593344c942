import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { type Context, Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { quote } from '../model/ids.ts';
import type { PullRequestsConfig } from '../model/relay-config.ts';
import type { Log } from '../ports/log.ts';
import { refuse } from './http-error.ts';
import { isAbout, pullRequestEvent } from './pull-request-event.ts';
import { pushedRef } from './push-event.ts';
import { localCallerProblem } from './request.ts';

/** A source that a hook triggers. */
export interface HookTarget {
  readonly source: string;
  /** The secret that a caller must prove to know; undefined: only callers on this machine are believed. */
  readonly secret: string | undefined;
  /** The branch that it follows; absent: the default branch of the remote. */
  readonly branch?: string | undefined;
  /** Looks at the source now. Cheap; many calls in a row are one look. */
  trigger(): void;
  /** Absent: pull requests are not planned. */
  readonly pullRequests?: HookPullRequests;
}

/** The pull requests that a hook of a source may tell of. */
export interface HookPullRequests extends Pick<PullRequestsConfig, 'host' | 'repository'> {
  readonly branch: string;
  /** Queues a pull request; false: too many wait. Rejects if the store does not answer. */
  request(pullRequest: number): Promise<boolean>;
}

/** The sources that hooks trigger, read at each call. */
export interface GitHooks {
  targets(): readonly HookTarget[];
}

const MAX_BODY_BYTES = 5 << 20;
/** Bodies are in memory until their signature is checked: this times the size bounds the memory for unknown callers. */
const MAX_CONCURRENT = 8;
/** The headers that prove knowledge of the secret: of GitHub, Gitea and Forgejo; of Gitea; of GitLab. */
const PROOFS = ['X-Hub-Signature-256', 'X-Gitea-Signature', 'X-Gitlab-Token'] as const;

/**
 * `POST /git` triggers every source whose secret the caller proves to know, `POST /git/:source` the named one. A hook only
 * says that it is worth looking, unless it tells of a push to another branch, such as the status branch. Of a body about a pull
 * request the number is taken, if its repository and branch are those of the source.
 */
export function hookRoutes(hooks: GitHooks, log: Log, loopback: boolean): Hono {
  const routes = new Hono();
  let underWay = 0;
  routes.use(async (context, next) => {
    if (underWay >= MAX_CONCURRENT) return refuse(context, 'Unavailable', 'too many hook calls at once; try again');
    underWay += 1;
    try {
      await next();
    } finally {
      underWay -= 1;
    }
    return undefined;
  });
  const tooLarge = `the body of a hook is at most ${MAX_BODY_BYTES} bytes`;
  routes.use(bodyLimit({ maxSize: MAX_BODY_BYTES, onError: (context) => refuse(context, 'TooLarge', tooLarge) }));
  const handle = async (context: Context): Promise<Response> => {
    const name = context.req.param('source');
    const targets = hooks.targets().filter(({ source }) => name === undefined || source === name);
    const missing = name === undefined ? 'no git source is configured' : `no git source ${quote(name)}`;
    return targets.length === 0 ? refuse(context, 'NotFound', missing) : answer(context, targets, loopback, log);
  };
  for (const path of ['/git', '/git/:source']) {
    routes.post(path, handle);
    routes.on(['GET', 'PUT', 'DELETE', 'PATCH'], path, (context) =>
      refuse(context, 'MethodNotAllowed', 'hooks are sent with POST'),
    );
  }
  return routes;
}

async function answer(
  context: Context,
  targets: readonly HookTarget[],
  loopback: boolean,
  log: Log,
): Promise<Response> {
  const body = new Uint8Array(await context.req.arrayBuffer());
  const distrust = loopback ? localCallerProblem(context) : 'the server listens on more than loopback';
  const believed = targets.filter(({ secret }) =>
    secret === undefined ? distrust === undefined : isProven(context, body, secret),
  );
  if (believed.length > 0) {
    const ref = pushedRef((name) => context.req.header(name), body);
    const isDue = ({ branch }: HookTarget): boolean =>
      ref === undefined || branch === undefined || ref === `refs/heads/${branch}`;
    const due = believed.filter(isDue);
    for (const target of due) target.trigger();
    const sources = due.map(({ source }) => source);
    log.debug('a hook was accepted', { sources, ref });
    return (await requestPullRequest(context, body, believed, log)) ?? context.json({ accepted: true, sources }, 202);
  }
  const signed = PROOFS.some((name) => context.req.header(name) !== undefined);
  log.warn('a hook was refused', { sources: targets.map(({ source }) => source), signed });
  if (targets.every(({ secret }) => secret === undefined)) {
    return refuse(context, 'Forbidden', `no hook secret is configured, and ${distrust ?? 'the call was not believed'}`);
  }
  const message = signed
    ? 'the signature does not match the hook secret'
    : `the call is not signed: set the hook secret at the git host (${PROOFS.slice(0, -1).join(', ')} or ${PROOFS.at(-1)})`;
  return refuse(context, 'Unauthorized', message);
}

/** Queues the pull request that the call is about; undefined: it is about none of these sources. */
async function requestPullRequest(
  context: Context,
  body: Uint8Array,
  believed: readonly HookTarget[],
  log: Log,
): Promise<Response | undefined> {
  const event = pullRequestEvent((name) => context.req.header(name), body);
  if (event === undefined) return undefined;
  const about = believed.filter(({ pullRequests }) => pullRequests !== undefined && isAbout(event, pullRequests));
  if (about.length === 0) return undefined;
  const queued = await Promise.allSettled(about.map(({ pullRequests }) => pullRequests?.request(event.number)));
  const sources = about.map(({ source }) => source);
  const failure = queued.find((each) => each.status === 'rejected');
  if (failure !== undefined) {
    log.warn('a pull request could not be queued', { sources, error: failure.reason });
    return refuse(context, 'Unavailable', 'the store does not answer; send the hook again later');
  }
  const full = sources.filter((_, index) => queued[index]?.status === 'fulfilled' && queued[index].value !== true);
  if (full.length === 0) return context.json({ accepted: true, sources, pullRequest: event.number }, 202);
  return refuse(context, 'Unavailable', `too many pull requests of ${full.join(', ')} wait; send the hook again later`);
}

/** True if a header proves knowledge of the secret for exactly these bytes; GitLab sends the secret and signs no body. */
function isProven({ req }: Context, body: Uint8Array, secret: string): boolean {
  // Any caller could sign with an empty secret.
  if (secret === '') return false;
  const signature = createHmac('sha256', secret).update(body).digest('hex');
  const [hub, gitea, gitlab] = PROOFS.map((name) => req.header(name));
  return (
    (hub !== undefined && secretsEqual(hub.toLowerCase(), `sha256=${signature}`)) ||
    (gitea !== undefined && secretsEqual(gitea.toLowerCase(), signature)) ||
    (gitlab !== undefined && secretsEqual(gitlab, secret))
  );
}

/** Compares two secrets in constant time; the digests also hide their lengths. */
function secretsEqual(a: string, b: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text, 'utf8').digest();
  return timingSafeEqual(digest(a), digest(b));
}
