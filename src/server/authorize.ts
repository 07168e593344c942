import { TLSSocket } from 'node:tls';
import type { HttpBindings } from '@hono/node-server';
import type { Context, MiddlewareHandler } from 'hono';
import type { Audit, AuditedRequest } from './audit.ts';
import { type ErrorReason, refuse } from './http-error.ts';
import { type Caller, callerOfCertificate, LOCAL_CALLER, type People } from './people.ts';
import { jsonBody } from './request.ts';

/** The context of a request to the API. */
export interface ApiEnv {
  Bindings: HttpBindings;
  Variables: { caller: Caller };
}

/** Who may use the API: callers with a token, with a client certificate, or at the server's Unix socket. */
export interface ApiAccess {
  readonly people: People;
  /** Client certificates are requested, and verified against a CA. */
  readonly certificates: boolean;
  /** Requests come over a Unix socket, whose file says who may open it. */
  readonly socket: boolean;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** Prefix of the API's paths. */
export const API_PATH = /^\/api\/v1\//;

const LONGEST_NAME = 200;

/** Lets a known caller ask, and a caller with the role `operate` act. Each act (POST) is noted in the audit log. */
export function authorize(access: ApiAccess, audit: Audit): MiddlewareHandler<ApiEnv> {
  return async (context, next) => {
    const isAct = context.req.method === 'POST';
    const identified = identify(context, access);
    const caller = identified.ok ? identified.caller : undefined;
    const refusal = identified.ok ? objection(context, identified.caller) : identified;
    if (caller !== undefined) context.set('caller', isAct ? await withStatedName(context, caller) : caller);
    const request: AuditedRequest = {
      caller: caller && context.get('caller'),
      from: access.socket ? 'unix socket' : (context.env.incoming.socket.remoteAddress ?? ''),
      act: context.req.path.replace(API_PATH, ''),
    };
    if (refusal !== undefined) {
      if (isAct) await audit.refused(request, refusal.message);
      return refuse(context, refusal.reason, refusal.message);
    }
    if (isAct) return act(context, next, audit, request);
    await next();
    return undefined;
  };
}

/** Notes the act, carries it out, and notes the result. An act that cannot be noted is not carried out. */
async function act(
  context: Context<ApiEnv>,
  next: () => Promise<void>,
  audit: Audit,
  request: AuditedRequest,
): Promise<Response | undefined> {
  const body = await jsonBody(context);
  const noted = await audit.asked(request, body.ok ? body.value : {});
  if (!noted.ok) {
    const message = 'this cannot be noted in the audit log, so it is not done; the log of the server says more';
    return refuse(context, 'Unavailable', message);
  }
  await next();
  const { status } = context.res;
  const stage = status < 400 ? 'done' : status < 500 ? 'refused' : 'failed';
  await noted.value(stage, stage === 'done' ? '' : await messageOf(context.res));
  return undefined;
}

async function messageOf(response: Response): Promise<string> {
  try {
    const { error } = (await response.clone().json()) as { readonly error?: { readonly message?: unknown } };
    return String(error?.message ?? '');
  } catch {
    return `status ${response.status}`;
  }
}

interface Refusal {
  readonly reason: ErrorReason;
  readonly message: string;
}

type Identified = { readonly ok: true; readonly caller: Caller } | ({ readonly ok: false } & Refusal);

function identify(context: Context<ApiEnv>, { people, certificates, socket, now }: ApiAccess): Identified {
  if (certificates) {
    const shown = certificateOf(context, now());
    if (shown !== undefined) return shown;
  }
  const authorization = context.req.header('Authorization');
  const caller = people.byAuthorization(authorization);
  if (caller !== undefined) return { ok: true, caller };
  if (socket && authorization === undefined) return { ok: true, caller: LOCAL_CALLER };
  const wanted = [
    ...(people.isEmpty ? [] : ['an API token (Authorization: Bearer ...)']),
    ...(certificates ? ['a client certificate'] : []),
  ].join(' or ');
  return { ok: false, reason: 'Unauthorized', message: `this needs ${wanted}; it is missing or wrong` };
}

/** Undefined: the caller has no certificate. One that is not valid is refused, also if the caller shows a token. */
function certificateOf({ env }: Context<ApiEnv>, now: number): Identified | undefined {
  const { socket } = env.incoming;
  if (!(socket instanceof TLSSocket)) return undefined;
  const certificate = socket.getPeerCertificate();
  if (Object.keys(certificate).length === 0) return undefined;
  // Node checks the time at the handshake only, and a connection may last longer than the certificate.
  const isOver = Date.parse(certificate.valid_to) <= now;
  if (!socket.authorized || isOver) {
    const why = isOver ? 'its time is over' : String(socket.authorizationError);
    return { ok: false, reason: 'Unauthorized', message: `the client certificate is not accepted: ${why}` };
  }
  const caller = callerOfCertificate(certificate);
  return caller.ok ? { ok: true, caller: caller.value } : { ok: false, reason: 'Forbidden', message: caller.problem };
}

/** Returns why a known caller may not do this; undefined: it may. */
function objection({ req }: Context<ApiEnv>, { name, role }: Caller): Refusal | undefined {
  if (req.method === 'GET' || req.method === 'HEAD') return undefined;
  if (role !== 'operate') return { reason: 'Forbidden', message: `${name} may ask, and change nothing (role read)` };
  if (req.method === 'POST' && !/^application\/json\s*(;|$)/i.test(req.header('Content-Type') ?? '')) {
    // A form of another origin's web page cannot send this type without a preflight request.
    return { reason: 'UnsupportedMediaType', message: 'send the body as application/json' };
  }
  return undefined;
}

/** Takes the name that a local caller states: its proof says which machine it is on, and not who it is. */
async function withStatedName(context: Context<ApiEnv>, caller: Caller): Promise<Caller> {
  if (caller.proof !== 'local') return caller;
  const body = await jsonBody(context);
  const stated = body.ok ? body.value.by : undefined;
  const usable = typeof stated === 'string' && stated.length <= LONGEST_NAME && !/\p{C}/u.test(stated);
  return usable && stated !== '' ? { ...caller, name: stated } : caller;
}
