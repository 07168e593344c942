import { TLSSocket } from 'node:tls';
import type { HttpBindings } from '@hono/node-server';
import type { Context, HonoRequest, MiddlewareHandler } from 'hono';
import { createBodies } from '../http/bodies.ts';
import type { JsonObject } from '../model/text/json.ts';
import type { Result } from '../model/values/result.ts';
import type { Audit, AuditedRequest } from './audit.ts';
import { type ErrorBody, type ErrorReason, refuse } from './http-error.ts';
import { type Caller, callerOfCertificate, LOCAL_CALLER, type People } from './people.ts';
import { jsonBody } from './request.ts';

/** The context of a request to the API. */
export interface ApiEnv {
  Bindings: HttpBindings;
  /** `body`: of an act. */
  Variables: { caller: Caller; body: Result<JsonObject> };
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

const MAX_BODY_BYTES = 64 << 10;
/** Of callers who are known. */
const BODIES_AT_ONCE = 4 << 20;

/**
 * Lets a known caller ask, and a caller with the role `operate` act. Each act (POST) is noted in the audit log. A body is
 * received after the caller is known.
 */
export function authorize(access: ApiAccess, audit: Audit): MiddlewareHandler<ApiEnv> {
  const bodies = createBodies({ most: MAX_BODY_BYTES, mostAtOnce: BODIES_AT_ONCE });
  return async (context, next) => {
    const isAct = context.req.method === 'POST';
    const identified = identify(context, access);
    const request: AuditedRequest = {
      caller: identified.ok ? identified.caller : undefined,
      from: access.socket ? 'unix socket' : (context.env.incoming.socket.remoteAddress ?? ''),
      act: context.req.path.replace(API_PATH, ''),
    };
    const refused = async ({ reason, message }: Refusal): Promise<Response> => {
      if (isAct) await audit.refused(request, message);
      if (reason === 'MethodNotAllowed') context.header('Allow', 'GET, HEAD, POST');
      return refuse(context, reason, message);
    };
    if (!identified.ok) return refused(identified);
    const refusal = objection(context, identified.caller);
    if (refusal !== undefined) return refused(refusal);
    context.set('caller', identified.caller);
    if (!isAct) return next();
    const received = await bodies.receive(context.env.incoming);
    if (!received.ok) return refused(received);
    const body = jsonBody(received.bytes);
    const caller = withStatedName(body, identified.caller);
    context.set('body', body);
    context.set('caller', caller);
    return act(context, next, audit, { ...request, caller });
  };
}

/** Notes the act, carries it out, and notes the result. An act that cannot be noted is not carried out. */
async function act(
  context: Context<ApiEnv>,
  next: () => Promise<void>,
  audit: Audit,
  request: AuditedRequest,
): Promise<Response | undefined> {
  const body = context.get('body');
  const noted = await audit.asked(request, body.ok ? body.value : {});
  if (!noted.ok) {
    const message = 'this cannot be noted in the audit log, so it is not done; the log of the server says more';
    return refuse(context, 'Unavailable', message);
  }
  await next();
  const { status } = context.res;
  if (status < 400) await noted.value('done', '');
  else {
    const { reason, message } = await errorOf(context.res);
    const failed = reason === ('Unrecorded' satisfies ErrorReason) ? 'unknown' : 'failed';
    await noted.value(status < 500 ? 'refused' : failed, message);
  }
  return undefined;
}

async function errorOf(response: Response): Promise<{ readonly reason: string; readonly message: string }> {
  try {
    const { error } = (await response.clone().json()) as Partial<ErrorBody>;
    return { reason: error?.reason ?? '', message: error?.message ?? '' };
  } catch {
    return { reason: '', message: `status ${response.status}` };
  }
}

interface Refusal {
  readonly reason: ErrorReason;
  readonly message: string;
}

/** The caller of a request, or why there is none. */
export type Identified = { readonly ok: true; readonly caller: Caller } | ({ readonly ok: false } & Refusal);

/** A request, before its body has arrived. */
interface Asking {
  readonly req: Pick<HonoRequest, 'header'>;
  readonly env: HttpBindings;
}

/** Finds the caller of a request by its certificate, its token, or the Unix socket. Reads nothing of the body. */
export function identify(context: Asking, { people, certificates, socket, now }: ApiAccess): Identified {
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
function certificateOf({ env }: Asking, now: number): Identified | undefined {
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
  if (req.method !== 'POST') return { reason: 'MethodNotAllowed', message: 'ask with GET, and act with POST' };
  if (role !== 'operate') return { reason: 'Forbidden', message: `${name} may ask, and change nothing (role read)` };
  if (!/^application\/json\s*(;|$)/i.test(req.header('Content-Type') ?? '')) {
    // A form of another origin's web page cannot send this type without a preflight request.
    return { reason: 'UnsupportedMediaType', message: 'send the body as application/json' };
  }
  return undefined;
}

/** Takes the name that a local caller states: its proof says which machine it is on, and not who it is. */
function withStatedName(body: Result<JsonObject>, caller: Caller): Caller {
  if (caller.proof !== 'local') return caller;
  const stated = body.ok ? body.value.by : undefined;
  const usable = typeof stated === 'string' && stated.length <= LONGEST_NAME && !/\p{C}/u.test(stated);
  return usable && stated !== '' ? { ...caller, name: stated } : caller;
}
