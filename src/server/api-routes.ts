import { type Context, Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { quote } from '../model/ids.ts';
import type { JsonValue } from '../model/json.ts';
import { ok, type Result } from '../model/result.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import type { Answer, PeopleApi, ServerApi } from './api.ts';
import type { Audit } from './audit.ts';
import { API_PATH, type ApiEnv, type Doors, guard } from './guard.ts';
import { type ErrorReason, refuse } from './http-error.ts';
import { jsonBody, textOf } from './request.ts';

const MAX_BODY_BYTES = 64 << 10;
const MAX_CLUSTER = 63;
const MAX_OBJECT = 700;
const MAX_PART = 1_000;
const MAX_NAME = 200;
const DEFAULT_ENTRIES = 100;
const MAX_ENTRIES = 10_000;

const REASON_OF: Readonly<Record<Extract<Answer<never>, { ok: false }>['kind'], ErrorReason>> = {
  notFound: 'NotFound',
  conflict: 'Conflict',
  invalid: 'Invalid',
  notLeader: 'NotLeader',
};

/**
 * The API, one route a function; lists come as `{"items": [...]}`. Questions are for everybody who may come in, acts for
 * those with the role `operate`, and so is the log of acts.
 */
export function apiRoutes(api: PeopleApi, doors: Doors, { audit, log }: Audited): Hono<ApiEnv> {
  const routes = new Hono<ApiEnv>();
  routes.use(
    bodyLimit({
      maxSize: MAX_BODY_BYTES,
      onError: async (context) => {
        const message = `the body is at most ${MAX_BODY_BYTES} bytes`;
        const act = context.req.path.replace(API_PATH, '');
        if (context.req.method === 'POST') await audit.refused({ caller: undefined, from: '', act }, message);
        return refuse(context, 'TooLarge', message);
      },
    }),
  );
  routes.use(guard(doors, audit));
  questions(routes, api);
  commands(routes, api);
  auditRoute(routes, log);
  return routes;
}

/** Where acts are noted, and what reads them again. */
export interface Audited {
  readonly audit: Audit;
  readonly log: AuditLog;
}

function auditRoute(routes: Hono<ApiEnv>, log: AuditLog): void {
  routes.get('/audit', async (context) => {
    const { name, role } = context.get('caller');
    if (role !== 'operate') return refuse(context, 'Forbidden', `${name} may not read the audit log (role read)`);
    const limit = Number(context.req.query('limit') ?? DEFAULT_ENTRIES);
    if (!Number.isInteger(limit) || limit < 1 || limit > MAX_ENTRIES) {
      return refuse(context, 'Invalid', `limit must be a whole number from 1 to ${MAX_ENTRIES}`);
    }
    return context.json({ items: await log.tail(limit) });
  });
}

function questions(routes: Hono<ApiEnv>, api: ServerApi): void {
  routes.get('/status', (context) => context.json(api.status()));
  routes.get('/clusters', (context) => context.json({ items: api.clusters() }));
  routes.get('/sources', (context) => context.json({ items: api.sources() }));
  routes.get('/removals', (context) => {
    const elsewhere = api.elsewhere();
    return elsewhere === undefined ? context.json({ items: api.removals() }) : reply(context, elsewhere);
  });
  routes.get('/diagnostics', (context) => context.json({ items: api.diagnostics() }));
  routes.get('/views/:name', (context) => {
    const answer = api.view(context.req.param('name'));
    return answer.ok ? context.json({ items: answer.value }) : reply(context, answer);
  });
  routes.get('/outputs', (context) => {
    const cluster = context.req.query('cluster');
    const items = api.outputs(cluster);
    return items === undefined
      ? refuse(context, 'NotFound', `there is no cluster ${quote(cluster ?? '')}`)
      : context.json({ items });
  });
  routes.get('/desired', (context) => {
    const cluster = context.req.query('cluster') ?? '';
    const items = api.desired(cluster);
    return items === undefined
      ? refuse(context, 'NotFound', `there is no cluster ${quote(cluster)}`)
      : context.json({ items });
  });
  routes.get('/explain', async (context) => {
    const object = textOf('object', context.req.query('object'), MAX_OBJECT);
    if (!object.ok) return refuse(context, 'Invalid', object.problem);
    const cluster = givenText('cluster', context.req.query('cluster'), MAX_CLUSTER);
    if (!cluster.ok) return refuse(context, 'Invalid', cluster.problem);
    const part = givenText('part', context.req.query('part'), MAX_PART);
    if (!part.ok) return refuse(context, 'Invalid', part.problem);
    return reply(context, await api.explain({ object: object.value, ...cluster.value, ...part.value }));
  });
}

function commands(routes: Hono<ApiEnv>, api: PeopleApi): void {
  routes.post('/approvals', async (context) => {
    const fields = await fieldsOf(context, ['digest']);
    return fields.ok
      ? reply(context, await api.approve(fields.value.digest, nameOf(context)))
      : refuse(context, 'Invalid', fields.problem);
  });
  routes.post('/sources/:name/accept', async (context) => {
    const fields = await fieldsOf(context, ['revision']);
    return fields.ok
      ? reply(context, await api.accept(context.req.param('name'), fields.value.revision, nameOf(context)))
      : refuse(context, 'Invalid', fields.problem);
  });
  routes.post('/clusters/:name/replace', async (context) => {
    const fields = await fieldsOf(context, []);
    return fields.ok
      ? reply(context, await api.replaceCluster(context.req.param('name'), nameOf(context)))
      : refuse(context, 'Invalid', fields.problem);
  });
  routes.post('/clusters/:name/renew-token', async (context) => {
    const fields = await fieldsOf(context, []);
    return fields.ok
      ? reply(context, await api.renewToken(context.req.param('name'), nameOf(context)))
      : refuse(context, 'Invalid', fields.problem);
  });
  suspensions(routes, 'clusters', { suspend: api.suspendCluster, resume: api.resumeCluster });
  suspensions(routes, 'sources', { suspend: api.suspendSource, resume: api.resumeSource });
}

function suspensions<View extends object>(
  routes: Hono<ApiEnv>,
  what: 'clusters' | 'sources',
  api: {
    readonly suspend: (name: string, by: string, reason: string) => Promise<Answer<View>>;
    readonly resume: (name: string, by: string) => Promise<Answer<View>>;
  },
): void {
  routes.post(`/${what}/:name/suspend`, async (context) => {
    const body = await jsonBody(context);
    const reason = body.ok ? reasonOf(body.value.reason) : body;
    return reason.ok
      ? reply(context, await api.suspend(context.req.param('name') ?? '', nameOf(context), reason.value))
      : refuse(context, 'Invalid', reason.problem);
  });
  routes.post(`/${what}/:name/resume`, async (context) => {
    const fields = await fieldsOf(context, []);
    return fields.ok
      ? reply(context, await api.resume(context.req.param('name') ?? '', nameOf(context)))
      : refuse(context, 'Invalid', fields.problem);
  });
}

/** A parameter that may be left out. */
function givenText<Name extends string>(
  name: Name,
  value: string | undefined,
  max: number,
): Result<{ readonly [Each in Name]?: string }> {
  if (value === undefined) return ok({});
  const text = textOf(name, value, max);
  return text.ok ? ok({ [name]: text.value } as { readonly [Each in Name]: string }) : text;
}

/** It may be left out. */
function reasonOf(value: JsonValue | undefined): Result<string> {
  return value === undefined || value === '' ? ok('') : textOf('reason', value, MAX_NAME);
}

function nameOf(context: Context<ApiEnv>): string {
  return context.get('caller').name;
}

async function fieldsOf<Name extends string>(
  context: Context,
  names: readonly Name[],
): Promise<Result<Readonly<Record<Name, string>>>> {
  const body = await jsonBody(context);
  if (!body.ok) return body;
  const fields: Partial<Record<Name, string>> = {};
  for (const name of names) {
    const text = textOf(name, body.value[name], MAX_NAME);
    if (!text.ok) return text;
    fields[name] = text.value;
  }
  return { ok: true, value: fields as Record<Name, string> };
}

function reply<Value extends object>(context: Context, answer: Answer<Value>): Response {
  if (answer.ok) return context.json(answer.value);
  const leader = answer.kind === 'notLeader' ? (answer.leader ?? undefined) : undefined;
  return refuse(context, REASON_OF[answer.kind], answer.message, leader);
}
