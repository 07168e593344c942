import { readFile } from 'node:fs/promises';
import { dirname, isAbsolute, join } from 'node:path';
import { load } from 'js-yaml';
import { isLoopback } from '../../../http/loopback.ts';
import { isJsonObject, type JsonObject, type JsonValue, objectsOf } from '../../../model/text/json.ts';
import { errorText } from '../../../model/text/messages.ts';
import { ok, problem, type Result } from '../../../model/values/result.ts';

/** The cluster and the user of a kubeconfig's context. Paths are absolute. */
export interface KubeconfigContext {
  readonly name: string;
  readonly cluster: JsonObject;
  readonly user: JsonObject;
  readonly server: string;
  readonly namespace: string | undefined;
}

/**
 * Reads the files, merges them as kubectl does (the first file that has an entry wins), and returns a context. `context`
 * undefined: the current one. The problem is a sentence for people.
 */
export async function readKubeconfig(
  files: readonly string[],
  context: string | undefined,
): Promise<Result<KubeconfigContext>> {
  const documents: JsonObject[] = [];
  for (const file of files) {
    const read = await readOne(file, files.length > 1);
    if (!read.ok) return read;
    if (read.value !== undefined) documents.push(read.value);
  }
  const where = files.join(', ');
  if (documents.length === 0) return problem(`no kubeconfig: ${where} is not there; name one with --kubeconfig FILE`);
  return pickContext(documents, context, where);
}

/** `mayBeMissing`: kubectl ignores files of KUBECONFIG that do not exist. */
async function readOne(file: string, mayBeMissing: boolean): Promise<Result<JsonObject | undefined>> {
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    const missing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    if (missing && mayBeMissing) return ok(undefined);
    if (missing) return problem(`the kubeconfig ${file} is not there; name one with --kubeconfig FILE`);
    return problem(`the kubeconfig ${file} cannot be read: ${errorText(error)}`);
  }
  let document: JsonValue;
  try {
    document = text.trim() === '' ? {} : JSON.parse(JSON.stringify(load(text) ?? {}));
  } catch {
    // The parser's message quotes the text, which contains secrets.
    return problem(`the kubeconfig ${file} is not YAML`);
  }
  if (!isJsonObject(document)) return problem(`the kubeconfig ${file} is not a mapping`);
  return ok(withAbsolutePaths(document, dirname(file)));
}

function pickContext(
  documents: readonly JsonObject[],
  wanted: string | undefined,
  where: string,
): Result<KubeconfigContext> {
  const current = documents
    .map((document) => givenText(document['current-context']))
    .find((name) => name !== undefined);
  const name = wanted ?? current;
  const names = [...new Set(documents.flatMap((document) => entries(document, 'contexts')).map(([entry]) => entry))];
  const offered = names.length === 0 ? 'it has none' : `there are: ${names.join(', ')}`;
  if (name === undefined) {
    return problem(`${where} has no current-context; choose one with --context NAME (${offered})`);
  }
  const context = findEntry(documents, 'contexts', 'context', name);
  if (context === undefined) return problem(`${where} has no context ${JSON.stringify(name)} (${offered})`);
  const [clusterName, userName] = [givenText(context.cluster), givenText(context.user)];
  const cluster = clusterName && findEntry(documents, 'clusters', 'cluster', clusterName);
  const named = `context ${JSON.stringify(name)} in ${where}`;
  if (!cluster) return problem(`${named} names a cluster that is not there: ${clusterName ?? 'none'}`);
  const user = userName === undefined ? {} : findEntry(documents, 'users', 'user', userName);
  if (user === undefined) return problem(`${named} names a user that is not there: ${userName}`);
  const server = givenText(cluster.server);
  if (server === undefined) return problem(`cluster ${JSON.stringify(clusterName)} in ${where} has no server`);
  const wrong = wrongServer(server) ?? wrongProxy(givenText(cluster['proxy-url'])) ?? unsupportedUser(user);
  if (wrong !== undefined) return problem(`${named}: ${wrong}`);
  return ok({ name, cluster, user, server, namespace: givenText(context.namespace) });
}

/** Why no secrets may be sent to this address; undefined: they may. */
export function wrongServer(server: string): string | undefined {
  if (!URL.canParse(server)) return `${JSON.stringify(server)} is no address; it begins with https://`;
  const { protocol, hostname } = new URL(server);
  if (protocol === 'https:') return undefined;
  if (protocol !== 'http:') return `${JSON.stringify(server)} is no address; it begins with https://`;
  if (isLoopback(hostname)) return undefined;
  return `${server} would send credentials and objects unencrypted; http:// is allowed on loopback only, use https://`;
}

function wrongProxy(proxy: string | undefined): string | undefined {
  if (proxy === undefined) return undefined;
  const known = URL.canParse(proxy) && ['http:', 'https:', 'socks5:'].includes(new URL(proxy).protocol);
  return known ? undefined : 'its proxy-url is none of http://, https:// and socks5://';
}

/** Fields that would be ignored, so that requests would have other rights than the file says. */
function unsupportedUser(user: JsonObject): string | undefined {
  const extra = ['as-groups', 'as-uid', 'as-user-extra'].find((field) => user[field] !== undefined);
  return extra && `its user has ${extra}, which is not supported; use a user that has the rights itself`;
}

function withAbsolutePaths(document: JsonObject, folder: string): JsonObject {
  return {
    ...document,
    clusters: entries(document, 'clusters').map(([name, { cluster }]) => ({
      name,
      cluster: absolute(cluster, ['certificate-authority'], folder),
    })),
    users: entries(document, 'users').map(([name, { user }]) => ({
      name,
      user: completeUser(absolute(user, ['client-certificate', 'client-key', 'tokenFile'], folder), folder),
    })),
  };
}

function absolute(value: JsonValue | undefined, fields: readonly string[], folder: string): JsonObject {
  if (!isJsonObject(value)) return {};
  const paths = fields.map((field) => [field, givenText(value[field])] as const);
  const changed = paths.flatMap(([field, path]) => (path === undefined ? [] : [[field, inFolder(path, folder)]]));
  return { ...value, ...Object.fromEntries(changed) };
}

function completeUser(user: JsonObject, folder: string): JsonObject {
  return isJsonObject(user.exec) ? { ...user, exec: completeExec(user.exec, folder) } : user;
}

/** Credential plugins expect the version of their answer in KUBERNETES_EXEC_INFO. */
function completeExec(exec: JsonObject, folder: string): JsonObject {
  const command = givenText(exec.command);
  const info = JSON.stringify({ apiVersion: exec.apiVersion, kind: 'ExecCredential', spec: { interactive: false } });
  return {
    ...exec,
    ...(command?.includes('/') ? { command: inFolder(command, folder) } : {}),
    args: Array.isArray(exec.args) ? exec.args : [],
    env: [...objectsOf(exec.env), { name: 'KUBERNETES_EXEC_INFO', value: info }],
  };
}

function inFolder(path: string, folder: string): string {
  return isAbsolute(path) ? path : join(folder, path);
}

function findEntry(
  documents: readonly JsonObject[],
  list: string,
  member: string,
  name: string,
): JsonObject | undefined {
  for (const document of documents) {
    const found = entries(document, list).find(([entry]) => entry === name)?.[1][member];
    if (isJsonObject(found)) return found;
  }
  return undefined;
}

function entries(document: JsonObject, list: string): readonly (readonly [string, JsonObject])[] {
  const value = document[list];
  if (!Array.isArray(value)) return [];
  return value
    .filter(isJsonObject)
    .flatMap((entry) => (typeof entry.name === 'string' ? [[entry.name, entry] as const] : []));
}

/** A text of a kubeconfig; undefined if it is empty, as kubectl has it. */
export function givenText(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
