import { type Context, Hono } from 'hono';
import type { Answer } from '../api/answer.ts';
import type { ApiAct, Texts } from '../api/domain-api.ts';
import type { ServerApi } from '../api/server-api.ts';
import { quote } from '../model/fleet/ids.ts';
import type { JsonObject } from '../model/text/json.ts';
import { parseRfc3339 } from '../model/text/time.ts';
import { given } from '../model/values/given.ts';
import { ok, problem, type Result } from '../model/values/result.ts';
import type { AuditLog } from '../ports/audit-log.ts';
import { actsOf, type CarryOut } from './acts.ts';
import type { Audit } from './audit.ts';
import { type ApiAccess, type ApiEnv, authorize } from './authorize.ts';
import { type ErrorReason, refuse } from './http-error.ts';
import type { PeopleApi } from './people-api.ts';
import { textOf } from './request.ts';

const MAX_CLUSTER = 63;
const MAX_OBJECT = 700;
const MAX_PART = 1_000;
const MAX_REF = 250;
const MAX_NAME = 200;
const MAX_PARENT = 253;
const MAX_FILTER = 1_000;
const DEFAULT_ENTRIES = 100;
const MAX_ENTRIES = 10_000;
const DEFAULT_DELTAS = 20;
const MAX_DELTAS = 1_000;
const MAX_TIME = 40;
const MAX_PATH = 4_096;

const REASON_OF: Readonly<Record<Extract<Answer<never>, { ok: false }>['kind'], ErrorReason>> = {
  notFound: 'NotFound',
  conflict: 'Conflict',
  invalid: 'Invalid',
  unavailable: 'Unavailable',
  unrecorded: 'Unrecorded',
  notLeader: 'NotLeader',
};

/**
 * The API, one route a function of {@link PeopleApi}; lists are `{"items": [...]}`. Acts and the audit log need the role
 * `operate`, questions do not.
 */
export function apiRoutes(
  api: PeopleApi,
  access: ApiAccess,
  audit: Audit,
  log: AuditLog,
  carryOut: CarryOut,
): Hono<ApiEnv> {
  const routes = new Hono<ApiEnv>();
  routes.use(authorize(access, audit));
  questions(routes, api);
  for (const act of actsOf(api)) actRoute(routes, act, carryOut);
  auditRoute(routes, log);
  return routes;
}

function auditRoute(routes: Hono<ApiEnv>, log: AuditLog): void {
  routes.get('/audit', async (context) => {
    const { name, role } = context.get('caller');
    if (role !== 'operate') return refuse(context, 'Forbidden', `${name} may not read the audit log (role read)`);
    const limit = limitOf(context, DEFAULT_ENTRIES, MAX_ENTRIES);
    return limit.ok ? context.json({ items: await log.tail(limit.value) }) : refuse(context, 'Invalid', limit.problem);
  });
}

function limitOf(context: Context, without: number, most: number): Result<number> {
  const limit = Number(context.req.query('limit') ?? without);
  const isInside = Number.isInteger(limit) && limit >= 1 && limit <= most;
  return isInside ? ok(limit) : problem(`limit must be a whole number from 1 to ${most}`);
}

function questions(routes: Hono<ApiEnv>, api: ServerApi): void {
  routes.get('/status', (context) => context.json(api.status()));
  routes.get('/clusters', (context) => context.json({ items: api.clusters() }));
  routes.get('/sources', (context) => context.json({ items: api.sources() }));
  routes.get('/diagnostics', (context) => context.json({ items: api.diagnostics() }));
  routes.get('/removals', (context) => {
    const elsewhere = api.elsewhere();
    return elsewhere === undefined ? context.json({ items: api.removals() }) : reply(context, elsewhere);
  });
  routes.get('/views/:name', (context) => {
    const filter = context.req.queries();
    for (const [name, values] of Object.entries(filter)) {
      const wrong = values.map((value) => textOf(name, value, MAX_FILTER)).find((text) => !text.ok);
      if (wrong?.ok === false) return refuse(context, 'Invalid', wrong.problem);
    }
    const answer = api.view(context.req.param('name'), filter);
    return answer.ok ? context.json({ items: answer.value }) : reply(context, answer);
  });
  for (const { path, answer } of api.questions) {
    routes.get(path, (context) => reply(context, answer(namesIn(context))));
  }
  const ofCluster = (context: Context, items: readonly object[] | undefined): Response =>
    items === undefined
      ? refuse(context, 'NotFound', `there is no cluster ${quote(context.req.query('cluster') ?? '')}`)
      : context.json({ items });
  routes.get('/outputs', (context) => ofCluster(context, api.outputs(context.req.query('cluster'))));
  routes.get('/desired', (context) => ofCluster(context, api.desired(context.req.query('cluster') ?? '')));
  routes.get('/plan', async (context) => {
    const asked = textsOf(context.req.query(), { ref: MAX_REF }, { source: MAX_NAME });
    if (!asked.ok) return refuse(context, 'Invalid', asked.problem);
    const { ref = '', source } = asked.value;
    const answer = await api.plan(source, ref, context.req.raw.signal);
    if (!answer.ok) return reply(context, answer);
    return context.body(answer.value.json, { headers: { 'Content-Type': 'application/json' } });
  });
  routes.get('/recording', async (context) => {
    const answer = await api.recording();
    if (!answer.ok) return reply(context, answer);
    return context.body(ReadableStream.from(encoded(answer.value)), {
      headers: { 'Content-Type': 'application/x-ndjson' },
    });
  });
  explanations(routes, api);
}

function explanations(routes: Hono<ApiEnv>, api: ServerApi): void {
  routes.get('/explain', async (context) => {
    const asked = textsOf(
      context.req.query(),
      { object: MAX_OBJECT },
      { cluster: MAX_CLUSTER, parent: MAX_PARENT, part: MAX_PART },
    );
    if (!asked.ok) return refuse(context, 'Invalid', asked.problem);
    const { object = '', ...rest } = asked.value;
    return reply(context, await api.explain({ object, ...rest }));
  });
  routes.get('/why-not', async (context) => {
    const asked = textsOf(context.req.query(), { cluster: MAX_CLUSTER, object: MAX_OBJECT }, {});
    if (!asked.ok) return refuse(context, 'Invalid', asked.problem);
    const { cluster = '', object = '' } = asked.value;
    return reply(context, await api.whyNot({ cluster, object }));
  });
  routes.get('/impact', async (context) => {
    const asked = textsOf(context.req.query(), { path: MAX_PATH }, { source: MAX_NAME, line: MAX_NAME });
    if (!asked.ok) return refuse(context, 'Invalid', asked.problem);
    const limit = limitOf(context, DEFAULT_ENTRIES, MAX_ENTRIES);
    if (!limit.ok) return refuse(context, 'Invalid', limit.problem);
    const { path = '', line: text, ...rest } = asked.value;
    const line = Number(text ?? 1);
    if (!Number.isSafeInteger(line) || line < 1)
      return refuse(context, 'Invalid', 'line must be a whole number from 1');
    const at = text === undefined ? {} : { line };
    return reply(context, await api.impact({ path, ...rest, ...at, limit: limit.value }));
  });
  routes.get('/history', async (context) => {
    const asked = textsOf(context.req.query(), { cluster: MAX_CLUSTER }, { object: MAX_OBJECT, since: MAX_TIME });
    if (!asked.ok) return refuse(context, 'Invalid', asked.problem);
    const limit = limitOf(context, DEFAULT_DELTAS, MAX_DELTAS);
    if (!limit.ok) return refuse(context, 'Invalid', limit.problem);
    const { cluster = '', since: text, ...rest } = asked.value;
    const since = text === undefined ? undefined : parseRfc3339(text);
    if (text !== undefined && since === undefined)
      return refuse(context, 'Invalid', 'since must be a time of RFC 3339');
    const from = given({ since });
    const answer = await api.history({ cluster, ...rest, limit: limit.value, ...from });
    return answer.ok ? context.json({ items: answer.value }) : reply(context, answer);
  });
}

async function* encoded(texts: AsyncIterable<string>): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  for await (const text of texts) yield encoder.encode(text);
}

/** The names in the path. */
function namesIn(context: Context): Texts {
  return context.req.param();
}

function actRoute(routes: Hono<ApiEnv>, act: ApiAct, carryOut: CarryOut): void {
  const { path, needed = {}, optional = {} } = act;
  routes.post(path, async (context) => {
    const body = context.get('body');
    if (!body.ok) return refuse(context, 'Invalid', body.problem);
    // An empty text is as good as none.
    const filled = Object.fromEntries(Object.entries(body.value).filter(([, value]) => value !== ''));
    const texts = textsOf(filled, needed, optional);
    if (!texts.ok) return refuse(context, 'Invalid', texts.problem);
    const named = { ...texts.value, ...namesIn(context) };
    return reply(context, await carryOut(act, named, context.get('caller').name));
  });
}

/** Reads texts by name, each with its greatest length in characters. */
function textsOf(
  values: JsonObject,
  needed: Readonly<Record<string, number>>,
  optional: Readonly<Record<string, number>>,
): Result<Texts> {
  const texts: Record<string, string> = {};
  for (const [name, max] of Object.entries({ ...needed, ...optional })) {
    if (values[name] === undefined && !(name in needed)) continue;
    const text = textOf(name, values[name], max);
    if (!text.ok) return text;
    texts[name] = text.value;
  }
  return ok(texts);
}

function reply(context: Context, answer: Answer<object>): Response {
  if (answer.ok) return context.json(answer.value);
  const leader = answer.kind === 'notLeader' ? (answer.leader ?? undefined) : undefined;
  return refuse(context, REASON_OF[answer.kind], answer.message, leader);
}
