import { createHmac } from 'node:crypto';
import { Readable } from 'node:stream';
import fc from 'fast-check';
import { must } from '../../src/model/values/result.ts';
import type { ApiAccess } from '../../src/server/authorize.ts';
import { type HookTarget, hookRoutes } from '../../src/server/hook-routes.ts';
import { createPeople } from '../../src/server/people.ts';
import { silentLog } from '../support/silent-log.ts';
import { type FuzzTarget, require, requireReason } from './target.ts';

/** One call of a hook. */
interface HookCall {
  readonly method: string;
  readonly path: string;
  /** The caller has a token of the API with the role `operate`. */
  readonly operates: boolean;
  /** Base64. */
  readonly body: string;
  readonly headers: readonly (readonly [string, string])[];
}

const SECRETS: Readonly<Record<string, string | undefined>> = {
  main: 'secret-of-main',
  other: 'its-own',
  open: undefined,
  empty: '',
};
/** Headers that name an event of a pull request, or a push. */
const EVENTS = [
  ['X-GitHub-Event', 'push'],
  ['X-Gitlab-Event', 'Push Hook'],
  ['X-GitHub-Event', 'pull_request'],
  ['X-Gitea-Event', 'pull_request'],
  ['X-Gitlab-Event', 'Merge Request Hook'],
] as const;
const SIGNED = ['X-Hub-Signature-256', 'X-Gitea-Signature'];
const TOKEN = 'a-token-of-enough-length';
const ACCESS: ApiAccess = {
  people: must(createPeople([{ name: 'ann', role: 'operate', token: TOKEN }])),
  certificates: false,
  socket: false,
  now: () => 0,
};
const STATUSES = new Set([202, 401, 403, 404, 405, 413]);

const secret = fc.constantFrom('secret-of-main', 'its-own', '', 'wrong');
const text = fc.string({ unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)) });

/** A header that proves a secret, or almost. */
function proof(body: Uint8Array): fc.Arbitrary<readonly [string, string]> {
  const sign = (key: string): string => createHmac('sha256', key).update(body).digest('hex');
  return fc.oneof(
    secret.map((key) => ['X-Hub-Signature-256', `sha256=${sign(key)}`] as const),
    secret.map((key) => ['X-Hub-Signature-256', `SHA256=${sign(key).toUpperCase()}`] as const),
    secret.map((key) => ['X-Gitea-Signature', sign(key)] as const),
    secret.map((key) => ['X-Gitlab-Token', key] as const),
    fc.tuple(fc.constantFrom(...SIGNED, 'X-Gitlab-Token', 'X-Hub-Signature'), text),
  );
}

const other = fc.tuple(
  fc.constantFrom('X-Forwarded-For', 'Origin', 'Host', 'Content-Length', 'Content-Type', 'Sec-Fetch-Site'),
  fc.oneof(fc.constantFrom('127.0.0.1', 'localhost:80', 'http://localhost', 'cross-site', '-1', '99999999'), text),
);

/** Mostly the first value, which is valid. */
const oneOf = (first: unknown, ...others: unknown[]) =>
  fc.oneof({ arbitrary: fc.constant(first), weight: 4 }, fc.constantFrom(...others), fc.jsonValue());
const named = oneOf('acme/fleet', 'ACME/FLEET', 'acme/other', 'main');
const numbered = oneOf(7, 0, -1, 1.5, 2 ** 40, '7');
const acted = oneOf('opened', 'synchronize', 'open', 'update', 'closed');

const REFS = ['refs/heads/main', 'refs/heads/status', 'main'] as const;

/** A body as of a pull request or of a push, or almost. */
const request = fc
  .record({ action: acted, name: named, base: oneOf('main', 'other'), number: numbered, ref: oneOf(...REFS) })
  .map(({ action, name, base, number, ref }) => ({
    ref,
    ...{ action, number, pull_request: { base: { ref: base } }, repository: { full_name: name } },
    project: { path_with_namespace: name },
    object_attributes: { action, iid: number, target_branch: base, oldrev: 'f' },
  }));

/** Calls about pull requests that prove the secret of two sources. */
const signedRequests: fc.Arbitrary<HookCall> = fc.tuple(request, fc.constantFrom(...EVENTS)).map(([value, event]) => {
  const bytes = Buffer.from(JSON.stringify(value));
  const signature = createHmac('sha256', 'secret-of-main').update(bytes).digest('hex');
  const headers = [event, ['X-Hub-Signature-256', `sha256=${signature}`]] as const;
  return { method: 'POST', path: '/git', operates: false, body: bytes.toString('base64'), headers };
});

const body = fc.oneof(
  request.map((value) => Buffer.from(JSON.stringify(value))),
  fc.json().map((json) => Buffer.from(json)),
  fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
);

const calls: fc.Arbitrary<HookCall> = body.chain((bytes) =>
  fc.record({
    method: fc.constantFrom('POST', 'POST', 'POST', 'GET', 'PUT', 'DELETE', 'PATCH'),
    path: fc.oneof(
      fc.constantFrom(
        '/git',
        '/git/main',
        '/git/other',
        '/git/open',
        '/git/empty',
        '/git/nowhere',
        '/git/%',
        '/git/%ff',
      ),
      text.map((name) => `/git/${encodeURIComponent(name)}`),
    ),
    operates: fc.boolean(),
    body: fc.constant(bytes.toString('base64')),
    headers: fc.array(fc.oneof(proof(bytes), other, fc.constantFrom(...EVENTS)), { maxLength: 4 }),
  }),
);

/** What the headers prove, by a rule of its own: the accepted secrets. */
function provenSecrets(headers: Headers, bytes: Uint8Array): ReadonlySet<string> {
  return new Set(
    Object.values(SECRETS).filter((key) => {
      if (key === undefined || key === '') return false;
      const signature = createHmac('sha256', key).update(bytes).digest('hex');
      return (
        headers.get('X-Hub-Signature-256')?.toLowerCase() === `sha256=${signature}` ||
        headers.get('X-Gitea-Signature')?.toLowerCase() === signature ||
        headers.get('X-Gitlab-Token') === key
      );
    }) as string[],
  );
}

/** The calls of git hosts: a source is triggered only by who proves its secret, and every refusal has a reason. */
export const hooks: FuzzTarget<HookCall> = {
  name: 'hooks',
  inputs: fc.oneof(calls, signedRequests),
  async check({ method, path, operates, body: encoded, headers: pairs }) {
    const bytes = Buffer.from(encoded, 'base64');
    const triggered: string[] = [];
    const took = (number: number): boolean => {
      requests.push(number);
      return true;
    };
    const requests: number[] = [];
    const targets: readonly HookTarget[] = Object.entries(SECRETS).map(([source, key]) => ({
      source,
      secret: key,
      // A push to another branch triggers the sources without a branch only.
      ...(key === SECRETS.main ? { branch: 'main' } : {}),
      trigger: () => void triggered.push(source),
      pullRequests: {
        host: 'github',
        repository: 'acme/fleet',
        branch: 'main',
        request: async (number) => took(number),
      },
    }));
    const routes = hookRoutes({ targets: () => targets }, { api: ACCESS, strangers: silentLog }, silentLog);
    let failure: unknown;
    routes.onError((error, context) => {
      failure = error;
      return context.text('', 500);
    });
    const headers = new Headers(pairs.map(([name, value]) => [name, value]));
    if (operates) headers.set('Authorization', `Bearer ${TOKEN}`);
    const incoming = Object.assign(Readable.from(method === 'GET' ? [] : [bytes]), { headers: {}, socket: {} });
    const response = await routes.request(`http://localhost${path}`, { method, headers }, { incoming });
    if (failure !== undefined) throw failure;
    require(STATUSES.has(response.status), `the answer is ${response.status}`);
    const mayBePush = pairs.some(([, value]) => value === 'push' || value === 'Push Hook');
    const isDue = response.status === 202 && !mayBePush;
    require(triggered.length > 0 ? response.status === 202 : !isDue, `${response.status} triggers ${triggered.join()}`);
    const proven = provenSecrets(headers, bytes);
    for (const source of triggered) {
      const key = SECRETS[source];
      const isProven = key === undefined ? operates : proven.has(key);
      require(isProven && method === 'POST', `${source} is triggered without proof`);
    }
    require(requests.every((number) => Number.isSafeInteger(number) && number > 0), `pull requests ${requests.join()}`);
    require(requests.length === 0 || response.status === 202, 'a pull request is taken without proof');
    if (response.status === 202) return;
    const answer = await response.text();
    for (const key of ['secret-of-main', 'its-own']) {
      // A path is repeated in the answer; it may be anything.
      require(path.includes(key) || !answer.includes(key), 'the answer holds a secret');
    }
    if (response.headers.get('Content-Type')?.startsWith('application/json') === true) {
      requireReason((JSON.parse(answer) as { error: { reason: string } }).error.reason);
    }
  },
};
