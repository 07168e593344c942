import git from 'isomorphic-git';
import { type GitPublishOutcome, type GitPublishRequest, gitCopyError } from '../../../ports/git-repo.ts';
import { cleanMessage, failed } from '../failures.ts';
import { type GitObjects, isObjectId, readCommit } from '../git-objects.ts';
import { checkPath, withoutDelimiters } from '../publish.ts';
import { outcomeOfRejection, type RemoteRefs } from '../rejection.ts';
import { entriesOf, isFolder } from '../tree-object.ts';
import { copyFiles, writeRef } from './copy-files.ts';
import { askForRef, type RemoteContext, useRemote } from './remote-calls.ts';

const PUBLISH_REF = 'refs/fleetrelay/published';
const FILE_MODE = '100644';
const FOLDER_MODE = '40000';

export interface PublishContext extends RemoteContext {
  readonly objects: GitObjects;
  readonly repository: string;
  readonly branch: string;
}

/** Writes the commit into the local copy and pushes it, on the condition that the branch has not moved. */
export async function publishCommit(context: PublishContext, request: GitPublishRequest): Promise<GitPublishOutcome> {
  const { repository, branch, url, secrets, objects } = context;
  const what = `pushing ${branch} to ${url}`;
  if (request.expected !== null && (await objects.header(request.expected)) === undefined) {
    const tip = await askForRef(context, `refs/heads/${branch}`, what);
    if (tip.type === 'failed') return tip;
    if (tip.value?.commit !== request.expected) return { type: 'race' };
    return failed('LocalFailure', `${what} failed: the commit to build on was not fetched`);
  }
  const commit = await writeCommit(context, request);
  await writeRef(repository, PUBLISH_REF, commit);
  const messages: string[] = [];
  let hasMoved = false;
  const pushed = await useRemote(context, { what }, async (http, headers) => {
    const pushing = git.push({
      fs: copyFiles,
      gitdir: repository,
      cache: {},
      http,
      headers,
      url,
      ref: PUBLISH_REF,
      remoteRef: `refs/heads/${branch}`,
      // The server compares this commit again when it moves the branch: history only grows.
      onPrePush: ({ remoteRef }) => {
        hasMoved = remoteRef.oid !== (request.expected ?? '0'.repeat(40));
        return !hasMoved;
      },
      onMessage: (line) => void messages.push(line),
    });
    return pushing.then(
      () => undefined,
      (error: unknown) => {
        if (error instanceof git.Errors.UserCanceledError || error instanceof git.Errors.GitPushError) return error;
        throw error;
      },
    );
  });
  if (pushed.type === 'failed') return pushed;
  if (pushed.value === undefined) return { type: 'published', commit };
  if (hasMoved) return { type: 'race' };
  const reason = refusalOf(pushed.value);
  const said = messages.join('\n').trim();
  const message = cleanMessage(said === '' ? reason : `${reason}: ${said}`, secrets);
  return outcomeOfRejection({ branch, expected: request.expected, message }, await refsNear(context, what));
}

/** The refs with the first part of the branch's name; undefined: the remote does not answer. */
async function refsNear(context: PublishContext, what: string): Promise<RemoteRefs | undefined> {
  const { url, branch } = context;
  const [first = ''] = branch.split('/');
  const asked = await useRemote(context, { what }, (http, headers) =>
    git.listServerRefs({ http, url, headers, prefix: `refs/heads/${first}`, protocolVersion: 2 }),
  );
  return asked.type === 'failed' ? undefined : new Map(asked.value.map(({ ref, oid }) => [ref, oid]));
}

function refusalOf(error: Error): string {
  if (!(error instanceof git.Errors.GitPushError)) return error.message;
  const [ref] = Object.values(error.data.result.refs);
  return ref === undefined || ref.error === '' ? error.data.prettyDetails : ref.error;
}

async function writeCommit(context: PublishContext, request: GitPublishRequest): Promise<string> {
  const { author, at, message, expected, changes } = request;
  if (expected !== null && !isObjectId(expected)) throw new Error('the expected commit is no commit id');
  for (const path of changes.keys()) checkPath(path);
  const before = expected === null ? undefined : (await readCommit(context.objects, expected)).tree;
  const edits = [...changes].map(([path, text]) => ({ path: path.split('/'), text }));
  const tree = (await editTree(context, before, edits)) ?? (await write(context, 'tree', Buffer.alloc(0)));
  const seconds = Math.floor(at / 1000);
  const who = `${withoutDelimiters(author.name)} <${withoutDelimiters(author.email)}> ${seconds} +0000`;
  const parent = expected === null ? '' : `parent ${expected}\n`;
  const text = `tree ${tree}\n${parent}author ${who}\ncommitter ${who}\n\n${message}`;
  return write(context, 'commit', Buffer.from(text));
}

interface Edit {
  readonly path: readonly string[];
  readonly text: string | null;
}

interface Entry {
  readonly mode: string;
  readonly id: string;
}

/** Makes the tree that results from the edits, and writes what is new of it. Undefined: nothing is left. */
async function editTree(
  context: PublishContext,
  tree: string | undefined,
  edits: readonly Edit[],
): Promise<string | undefined> {
  const entries = await entriesIn(context.objects, tree);
  const byName = Map.groupBy(edits, ({ path: [name = ''] }) => Buffer.from(name).toString('latin1'));
  for (const [name, own] of byName) {
    const here = own.find(({ path }) => path.length === 1);
    const below = own.filter(({ path }) => path.length > 1).map(({ path, text }) => ({ path: path.slice(1), text }));
    // Removals first: a removed file can make room for a folder of the same name.
    if (here?.text === null) entries.delete(name);
    if (below.length > 0) {
      const was = entries.get(name);
      const folder = await editTree(context, was !== undefined && isFolder(was.mode) ? was.id : undefined, below);
      if (folder !== undefined) entries.set(name, { mode: FOLDER_MODE, id: folder });
      else if (was !== undefined && isFolder(was.mode)) entries.delete(name);
    }
    if (here !== undefined && here.text !== null) {
      entries.set(name, { mode: FILE_MODE, id: await write(context, 'blob', Buffer.from(here.text)) });
    }
  }
  return entries.size === 0 ? undefined : write(context, 'tree', treeBytes(entries));
}

async function entriesIn(objects: GitObjects, tree: string | undefined): Promise<Map<string, Entry>> {
  const entries = new Map<string, Entry>();
  if (tree === undefined) return entries;
  const object = await objects.read(tree, Number.MAX_SAFE_INTEGER);
  if (object?.bytes === undefined) throw gitCopyError(`the local copy lacks the object ${tree}`);
  for (const { mode, name, id } of entriesOf(object.bytes, 20)) {
    entries.set(name.toString('latin1'), { mode, id: id.toString('hex') });
  }
  return entries;
}

/** A tree object; git sorts a folder as if its name ended with a slash. */
function treeBytes(entries: ReadonlyMap<string, Entry>): Buffer {
  const sorted = [...entries]
    .map(([name, { mode, id }]) => ({ key: isFolder(mode) ? `${name}/` : name, name, mode, id }))
    .sort((one, other) => Buffer.from(one.key, 'latin1').compare(Buffer.from(other.key, 'latin1')));
  return Buffer.concat(
    sorted.map(({ name, mode, id }) =>
      Buffer.concat([Buffer.from(`${mode} ${name}\0`, 'latin1'), Buffer.from(id, 'hex')]),
    ),
  );
}

function write({ repository }: PublishContext, type: 'blob' | 'tree' | 'commit', object: Buffer): Promise<string> {
  return git.writeObject({ fs: copyFiles, gitdir: repository, type, object, format: 'content' });
}
