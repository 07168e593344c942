import { type Context, Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { quote } from '../model/ids.ts';
import type { Log } from '../ports/log.ts';
import { refuse } from './http-error.ts';
import { localCallerProblem } from './local-caller.ts';
import { callerHeaders } from './request.ts';
import { type HookProof, hasNoProof, hookProofMatches } from './secret.ts';

/** A source that a hook can wake. */
export interface HookTarget {
  readonly source: string;
  /** What a caller must know; undefined: only callers on this machine are believed. */
  readonly secret: string | undefined;
  /** Look at the source now. Cheap; many calls in a row are one look. */
  trigger(): void;
}

/** The sources that hooks can wake, asked at each call. */
export interface GitHooks {
  targets(): readonly HookTarget[];
}

const MAX_BODY_BYTES = 5 << 20;
/** Bodies are held in memory until their signature is checked: this times the size bounds what a stranger can use up. */
const MAX_CONCURRENT = 8;

/**
 * `POST /git` wakes every source whose secret the caller proves to know, `POST /git/:source` the named one. What the
 * body says is not looked at: a hook is a hint to look, never a message to believe.
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
  routes.use(
    bodyLimit({
      maxSize: MAX_BODY_BYTES,
      onError: (context) => refuse(context, 'TooLarge', `the body of a hook is at most ${MAX_BODY_BYTES} bytes`),
    }),
  );
  const handle = async (context: Context, name: string | undefined): Promise<Response> => {
    const targets = hooks.targets().filter((target) => name === undefined || target.source === name);
    if (targets.length === 0) {
      return refuse(
        context,
        'NotFound',
        name === undefined ? 'no git source is configured' : `no git source ${quote(name)}`,
      );
    }
    const body = new Uint8Array(await context.req.arrayBuffer());
    return answer(context, targets, body, loopback, log);
  };
  routes.post('/git', (context) => handle(context, undefined));
  routes.post('/git/:source', (context) => handle(context, context.req.param('source')));
  routes.on(['GET', 'PUT', 'DELETE', 'PATCH'], ['/git', '/git/:source'], (context) =>
    refuse(context, 'MethodNotAllowed', 'hooks are sent with POST'),
  );
  return routes;
}

function answer(
  context: Context,
  targets: readonly HookTarget[],
  body: Uint8Array,
  loopback: boolean,
  log: Log,
): Response {
  const proof = proofOf(context);
  const distrust = loopback ? localCallerProblem(callerHeaders(context)) : 'the server listens on more than loopback';
  const believed = targets.filter(({ secret }) =>
    secret === undefined ? distrust === undefined : hookProofMatches(proof, body, secret),
  );
  for (const target of believed) target.trigger();
  const sources = believed.map(({ source }) => source);
  if (sources.length > 0) {
    log.debug('a hook was accepted', { sources });
    return context.json({ accepted: true, sources }, 202);
  }
  log.warn('a hook was refused', { sources: targets.map(({ source }) => source), signed: !hasNoProof(proof) });
  if (targets.every(({ secret }) => secret === undefined)) {
    return refuse(context, 'Forbidden', `no hook secret is configured, and ${distrust ?? 'the call was not believed'}`);
  }
  return refuse(
    context,
    'Unauthorized',
    hasNoProof(proof)
      ? 'the call is not signed: set the hook secret at the git host (X-Hub-Signature-256, X-Gitea-Signature or X-Gitlab-Token)'
      : 'the signature does not match the hook secret',
  );
}

function proofOf(context: Context): HookProof {
  return {
    hubSignature: context.req.header('X-Hub-Signature-256'),
    giteaSignature: context.req.header('X-Gitea-Signature'),
    gitlabToken: context.req.header('X-Gitlab-Token'),
  };
}
