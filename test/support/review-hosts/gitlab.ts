import type { JsonValue } from '../../../src/model/text/json.ts';
import answers from './answers.json' with { type: 'json' };
import {
  addComment,
  findComment,
  type HostApi,
  type HostCall,
  type HostedComment,
  type HostReply,
  hasCommit,
  pageOf,
} from './recorded-host.ts';

const { user, pullRequest, comment, status } = answers.gitlab;
const PROJECT = '/projects/([^/]+)';
const NOT_FOUND = refusal(404, '404 Not found');
const STATES = ['pending', 'running', 'success', 'failed', 'canceled', 'skipped'];
const QUICK_ACTION = /^\/(merge|approve|close|assign|label)\b[^\n]*$/gm;

function refusal(code: number, message: JsonValue): HostReply {
  return { status: code, body: { message } };
}

function tooLong(field: string, most: number): HostReply {
  return refusal(400, { [field]: [`is too long (maximum is ${most} characters)`] });
}

function shown({ id, author, system = false, body }: HostedComment): JsonValue {
  return { ...comment, id, body, system, author: { ...comment.author, id: author } };
}

/** GitLab executes the quick actions of a note, and takes them out of its text. */
function withQuickActions(executed: string[], text: string): string {
  return text.replaceAll('\r', '').replaceAll(QUICK_ACTION, (action) => {
    executed.push(action);
    return '';
  });
}

function writeNote({ state, params: [number = ''], body: { body } }: HostCall): HostReply {
  if (!state.pullRequests.has(Number(number))) return NOT_FOUND;
  if (typeof body !== 'string') return { status: 400, body: { error: 'body is missing' } };
  if (body.length > 1_000_000) return tooLong('note', 1_000_000);
  return {
    status: 201,
    body: shown(addComment(state, Number(number), withQuickActions(state.executed, body))),
  };
}

function changeNote({ state, params: [, id = ''], body: { body } }: HostCall): HostReply {
  const found = findComment(state, Number(id));
  if (found === undefined) return refusal(404, '404 Note Not Found');
  if (found.author !== state.account) return refusal(403, '403 Forbidden');
  if (typeof body !== 'string') return { status: 400, body: { error: 'body is missing' } };
  if (body.length > 1_000_000) return tooLong('note', 1_000_000);
  found.body = withQuickActions(state.executed, body);
  return { status: 200, body: shown(found) };
}

function listNotes({ state, params: [number = ''], query }: HostCall): HostReply {
  const found = state.pullRequests.get(Number(number));
  if (found === undefined) return NOT_FOUND;
  const ordered = query.get('sort') === 'asc' ? found.comments : found.comments.toReversed();
  const { items, next } = pageOf(ordered, query, 20);
  return { status: 200, body: items.map(shown), headers: { 'x-next-page': next === undefined ? '' : String(next) } };
}

/** A status is a job of a pipeline of a ref: its state changes by a state machine. */
function setStatus({ state, params: [sha = ''], body }: HostCall): HostReply {
  const { state: wanted, name = 'default', description = '', ref } = body;
  if (!hasCommit(state, sha)) return refusal(404, '404 Commit Not Found');
  if (!STATES.includes(String(wanted))) return { status: 400, body: { error: 'state does not have a valid value' } };
  if (String(description).length > 255) return tooLong('description', 255);
  if (String(ref ?? '').length > 255) return tooLong('ref', 255);
  const isOfBranch = [...state.pullRequests.values()].some(
    ({ commit, from }) => commit === sha && from === state.repositoryId,
  );
  if (ref === undefined && !isOfBranch) return refusal(404, '404 References for commit Not Found');
  const last = state.statuses.findLast(({ commit, context }) => commit === sha && context === name);
  if (wanted === 'pending' && last?.state === 'pending') {
    return refusal(
      400,
      'Cannot transition status via :enqueue from :pending (Reason(s): Status cannot transition via "enqueue")',
    );
  }
  const made = { commit: sha, state: String(wanted), context: String(name), description: String(description) };
  state.statuses.push({ ...made, ...(ref === undefined ? {} : { ref: String(ref) }) });
  return { status: 201, body: { ...status, sha, status: made.state, name: made.context, ref: ref ?? 'main' } };
}

function readMergeRequest({ state, params: [number = ''] }: HostCall): HostReply {
  const found = state.pullRequests.get(Number(number));
  if (found === undefined) return NOT_FOUND;
  return {
    status: 200,
    body: {
      ...pullRequest,
      iid: Number(number),
      state: found.open ? 'opened' : 'merged',
      target_branch: found.base,
      source_branch: found.branch,
      source_project_id: found.from ?? null,
      target_project_id: state.repositoryId,
      sha: found.commit,
    },
  };
}

/** The REST API of GitLab, version 4, as its documentation has it. */
export const gitlabApi: HostApi = {
  name: 'gitlab',
  prefix: '/api/v4',
  admit: ({ headers }, token) =>
    headers['private-token'] === token || headers.authorization === `Bearer ${token}`
      ? undefined
      : refusal(401, '401 Unauthorized'),
  routes: [
    ['GET', /^\/user$/, ({ state }) => ({ status: 200, body: { ...user, id: state.account } })],
    ['GET', new RegExp(`^${PROJECT}/merge_requests/(\\d+)$`), readMergeRequest],
    ['GET', new RegExp(`^${PROJECT}/merge_requests/(\\d+)/notes$`), listNotes],
    ['POST', new RegExp(`^${PROJECT}/merge_requests/(\\d+)/notes$`), writeNote],
    ['PUT', new RegExp(`^${PROJECT}/merge_requests/(\\d+)/notes/(\\d+)$`), changeNote],
    ['POST', new RegExp(`^${PROJECT}/statuses/([0-9a-f]{40})$`), setStatus],
  ],
  notFound: NOT_FOUND,
};
