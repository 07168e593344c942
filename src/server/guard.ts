import { TLSSocket } from 'node:tls';
import type { HttpBindings } from '@hono/node-server';
import type { Context, MiddlewareHandler } from 'hono';
import type { AuditEntry } from '../ports/audit-log.ts';
import type { Audit } from './audit.ts';
import { type ErrorReason, refuse } from './http-error.ts';
import { localCallerProblem } from './local-caller.ts';
import { type Caller, callerOfCertificate, type People } from './people.ts';
import { callerHeaders, jsonBody } from './request.ts';

/** What routes of the API know of a request. */
export interface ApiEnv {
  Bindings: HttpBindings;
  Variables: { caller: Caller };
}

/** Who may ask the API: people with tokens or client certificates; without either, everybody on this machine. */
export interface Doors {
  readonly people: People;
  /** Client certificates are asked for, and checked against a CA. */
  readonly certificates: boolean;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** What the paths of the API begin with. */
export const API_PATH = /^\/api\/v1\//;

const LONGEST_NAME = 200;

/** Lets in who may ask, and only those with the role `operate` who want something done. Every POST is noted. */
export function guard(doors: Doors, audit: Audit): MiddlewareHandler<ApiEnv> {
  return async (context, next) => {
    const identified = identify(context, doors);
    const isAct = context.req.method === 'POST';
    const caller = identified.ok ? identified.caller : undefined;
    const refusal = identified.ok ? objection(context, identified.caller) : identified;
    if (caller !== undefined) context.set('caller', isAct ? await named(context, caller) : caller);
    if (!isAct) {
      if (refusal !== undefined) return refuse(context, refusal.reason, refusal.message);
      await next();
      return undefined;
    }
    const by = { caller: caller === undefined ? undefined : context.get('caller'), from: addressOf(context) };
    const request = { ...by, act: context.req.path.replace(API_PATH, '') };
    if (refusal !== undefined) {
      await audit.refused(request, refusal.message);
      return refuse(context, refusal.reason, refusal.message);
    }
    return act(context, next, audit, request);
  };
}

type Request = Parameters<Audit['refused']>[0];

async function act(
  context: Context<ApiEnv>,
  next: () => Promise<void>,
  audit: Audit,
  request: Request,
): Promise<Response | undefined> {
  const body = await jsonBody(context);
  const noted = await audit.asked(request, body.ok ? body.value : {});
  if (!noted.ok) {
    const message = 'this cannot be noted in the audit log, so it is not done; the log of the server says more';
    return refuse(context, 'Unavailable', message);
  }
  await next();
  const { status } = context.res;
  await noted.value(stageOf(status), status < 400 ? '' : await messageOf(context.res));
  return undefined;
}

function stageOf(status: number): AuditEntry['stage'] {
  return status < 400 ? 'done' : status < 500 ? 'refused' : 'failed';
}

async function messageOf(response: Response): Promise<string> {
  try {
    const { error } = (await response.clone().json()) as { readonly error?: { readonly message?: unknown } };
    return String(error?.message ?? '');
  } catch {
    return `status ${response.status}`;
  }
}

type Identified =
  | { readonly ok: true; readonly caller: Caller }
  | { readonly ok: false; readonly reason: ErrorReason; readonly message: string };

function identify(context: Context<ApiEnv>, { people, certificates, now }: Doors): Identified {
  if (certificates) {
    const shown = certificateOf(context, now());
    if (shown !== undefined) return shown;
  }
  if (people.isEmpty && !certificates) {
    const distrust = localCallerProblem(callerHeaders(context));
    return distrust === undefined
      ? { ok: true, caller: { name: '', role: 'operate', proof: 'none' } }
      : { ok: false, reason: 'Forbidden', message: distrust };
  }
  const caller = people.byAuthorization(context.req.header('Authorization'));
  if (caller !== undefined) return { ok: true, caller };
  const wanted = [
    ...(people.isEmpty ? [] : ['an API token (Authorization: Bearer ...)']),
    ...(certificates ? ['a client certificate'] : []),
  ].join(' or ');
  return { ok: false, reason: 'Unauthorized', message: `this needs ${wanted}; it is missing or wrong` };
}

/** Undefined: none was shown. One that does not verify is never passed over, whatever else is shown. */
function certificateOf({ env }: Context<ApiEnv>, now: number): Identified | undefined {
  const { socket } = env.incoming;
  if (!(socket instanceof TLSSocket)) return undefined;
  const certificate = socket.getPeerCertificate();
  if (Object.keys(certificate).length === 0) return undefined;
  // The platform looks at the time when the connection is made, which may stay for as long as somebody asks.
  const isOver = Date.parse(certificate.valid_to) <= now;
  if (!socket.authorized || isOver) {
    const why = isOver ? 'its time is over' : String(socket.authorizationError);
    const message = `the client certificate is not accepted: ${why}`;
    return { ok: false, reason: 'Unauthorized', message };
  }
  const caller = callerOfCertificate(certificate);
  return caller.ok ? { ok: true, caller: caller.value } : { ok: false, reason: 'Forbidden', message: caller.problem };
}

/** Why somebody who is known must not do this; undefined: nothing. */
function objection(
  { req }: Context<ApiEnv>,
  { name, role }: Caller,
): { readonly reason: ErrorReason; readonly message: string } | undefined {
  if (req.method === 'GET' || req.method === 'HEAD') return undefined;
  if (role !== 'operate') {
    return { reason: 'Forbidden', message: `${name} may ask, and change nothing (role read)` };
  }
  if (req.method === 'POST' && !/^application\/json\s*(;|$)/i.test(req.header('Content-Type') ?? '')) {
    // A form of a foreign web page cannot send this type without asking first.
    return { reason: 'UnsupportedMediaType', message: 'send the body as application/json' };
  }
  return undefined;
}

/** Where nobody proves a name, the one that is said counts: everybody on this machine may do what they like anyway. */
async function named(context: Context<ApiEnv>, caller: Caller): Promise<Caller> {
  if (caller.proof !== 'none') return caller;
  const body = await jsonBody(context);
  const said = body.ok ? body.value.by : undefined;
  const usable = typeof said === 'string' && said.length <= LONGEST_NAME && !/\p{C}/u.test(said);
  return { ...caller, name: usable && said !== '' ? said : 'somebody on this machine' };
}

function addressOf({ env }: Context<ApiEnv>): string {
  return env.incoming.socket.remoteAddress ?? '';
}
