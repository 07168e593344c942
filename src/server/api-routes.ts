import { type Context, Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { quote } from '../model/ids.ts';
import type { Result } from '../model/result.ts';
import type { Answer, ServerApi } from './api.ts';
import { type ErrorReason, refuse } from './http-error.ts';
import { localCallerProblem } from './local-caller.ts';
import { callerHeaders, jsonBody, textOf } from './request.ts';
import { bearerMatches } from './secret.ts';

const MAX_BODY_BYTES = 64 << 10;
const MAX_CLUSTER = 63;
const MAX_OBJECT = 700;
const MAX_NAME = 200;

const REASON_OF: Readonly<Record<Extract<Answer<never>, { ok: false }>['kind'], ErrorReason>> = {
  notFound: 'NotFound',
  conflict: 'Conflict',
  invalid: 'Invalid',
};

/** The API, one route a function; lists come as `{"items": [...]}`. Without a token only this machine is answered. */
export function apiRoutes(api: ServerApi, token: string | undefined): Hono {
  const routes = new Hono();
  routes.use((context, next) => guard(context, next, token));
  routes.use(
    bodyLimit({
      maxSize: MAX_BODY_BYTES,
      onError: (context) => refuse(context, 'TooLarge', `the body is at most ${MAX_BODY_BYTES} bytes`),
    }),
  );
  questions(routes, api);
  commands(routes, api);
  return routes;
}

async function guard(
  context: Context,
  next: () => Promise<void>,
  token: string | undefined,
): Promise<Response | undefined> {
  const { req } = context;
  if (token !== undefined) {
    if (!bearerMatches(req.header('Authorization'), token)) {
      return refuse(context, 'Unauthorized', 'the API token is missing or wrong (Authorization: Bearer ...)');
    }
  } else {
    const distrust = localCallerProblem(callerHeaders(context));
    if (distrust !== undefined) return refuse(context, 'Forbidden', distrust);
  }
  if (req.method === 'POST' && !/^application\/json\s*(;|$)/i.test(req.header('Content-Type') ?? '')) {
    // A form of a foreign web page cannot send this type without asking first.
    return refuse(context, 'UnsupportedMediaType', 'send the body as application/json');
  }
  await next();
  return undefined;
}

function questions(routes: Hono, api: ServerApi): void {
  routes.get('/status', (context) => context.json(api.status()));
  routes.get('/clusters', (context) => context.json({ items: api.clusters() }));
  routes.get('/sources', (context) => context.json({ items: api.sources() }));
  routes.get('/removals', (context) => context.json({ items: api.removals() }));
  routes.get('/diagnostics', (context) => context.json({ items: api.diagnostics() }));
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
    const cluster = textOf('cluster', context.req.query('cluster'), MAX_CLUSTER);
    if (!cluster.ok) return refuse(context, 'Invalid', cluster.problem);
    const object = textOf('object', context.req.query('object'), MAX_OBJECT);
    if (!object.ok) return refuse(context, 'Invalid', object.problem);
    return reply(context, await api.explain(cluster.value, object.value));
  });
}

function commands(routes: Hono, api: ServerApi): void {
  routes.post('/approvals', async (context) => {
    const fields = await fieldsOf(context, ['digest', 'by']);
    return fields.ok
      ? reply(context, await api.approve(fields.value.digest, fields.value.by))
      : refuse(context, 'Invalid', fields.problem);
  });
  routes.post('/sources/:name/accept', async (context) => {
    const fields = await fieldsOf(context, ['revision', 'by']);
    return fields.ok
      ? reply(context, await api.accept(context.req.param('name'), fields.value.revision, fields.value.by))
      : refuse(context, 'Invalid', fields.problem);
  });
  routes.post('/clusters/:name/replace', async (context) => {
    const fields = await fieldsOf(context, ['by']);
    return fields.ok
      ? reply(context, await api.replaceCluster(context.req.param('name'), fields.value.by))
      : refuse(context, 'Invalid', fields.problem);
  });
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
  return answer.ok ? context.json(answer.value) : refuse(context, REASON_OF[answer.kind], answer.message);
}
