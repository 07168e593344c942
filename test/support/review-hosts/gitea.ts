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
} from './recorded-host.ts';

const { user, pullRequest, comment, status } = answers.gitea;
const REPOSITORY = '/repos/([^/]+/[^/]+)';
const NOT_FOUND = refusal(404, "The target couldn't be found.");
const STATES = ['pending', 'success', 'error', 'failure', 'warning'];

function refusal(code: number, message: string): HostReply {
  return { status: code, body: { message, url: 'https://git.example.com/api/swagger', errors: [] } };
}

function shown({ id, author, body }: HostedComment): JsonValue {
  return { ...comment, id, body, user: { ...comment.user, id: author } };
}

function writeComment({ state, params: [number = ''], body: { body } }: HostCall): HostReply {
  if (!state.pullRequests.has(Number(number))) return NOT_FOUND;
  if (typeof body !== 'string' || body === '') return refusal(422, '[Body]: Required');
  return { status: 201, body: shown(addComment(state, Number(number), body)) };
}

function changeComment({ state, params: [id = ''], body: { body } }: HostCall): HostReply {
  const found = findComment(state, Number(id));
  if (found === undefined) return NOT_FOUND;
  if (typeof body !== 'string' || body === '') return refusal(422, '[Body]: Required');
  found.body = body;
  return { status: 200, body: shown(found) };
}

/** Gitea gives all comments of an issue at once. */
function listComments({ state, params: [number = ''] }: HostCall): HostReply {
  const found = state.pullRequests.get(Number(number));
  if (found === undefined) return NOT_FOUND;
  const headers = { 'x-total-count': String(found.comments.length) };
  return { status: 200, body: found.comments.map(shown), headers };
}

function setStatus({ state, params: [sha = ''], body }: HostCall): HostReply {
  const { state: wanted, context = 'default', description = '' } = body;
  if (!hasCommit(state, sha)) return refusal(404, `object does not exist [id: ${sha}, rel_path: ]`);
  if (!STATES.includes(String(wanted))) return refusal(400, `unknown state ${String(wanted)}`);
  const made = { commit: sha, state: String(wanted), context: String(context), description: String(description) };
  state.statuses.push(made);
  return { status: 201, body: { ...status, status: made.state, context: made.context, description: made.description } };
}

function readPullRequest({ state, params: [number = ''] }: HostCall): HostReply {
  const found = state.pullRequests.get(Number(number));
  if (found === undefined) return NOT_FOUND;
  const { head, base } = pullRequest;
  const isGone = found.from === undefined;
  return {
    status: 200,
    body: {
      ...pullRequest,
      number: Number(number),
      state: found.open ? 'open' : 'closed',
      head: {
        ...{ ...head, ref: found.branch, sha: found.commit },
        ...(isGone ? { repo_id: -1, repo: null } : { repo_id: found.from, repo: { ...head.repo, id: found.from } }),
      },
      base: { ...base, ref: found.base, repo_id: state.repositoryId, repo: { ...base.repo, id: state.repositoryId } },
    },
  };
}

/** The API of Gitea and Forgejo, version 1, as its Swagger document has it. */
export const giteaApi: HostApi = {
  name: 'gitea',
  prefix: '/api/v1',
  admit: ({ headers }, token) =>
    headers.authorization === `token ${token}` || headers.authorization === `Bearer ${token}`
      ? undefined
      : refusal(401, 'user does not exist [uid: 0, name: ]'),
  routes: [
    ['GET', /^\/user$/, ({ state }) => ({ status: 200, body: { ...user, id: state.account } })],
    ['GET', new RegExp(`^${REPOSITORY}/pulls/(\\d+)$`), readPullRequest],
    ['GET', new RegExp(`^${REPOSITORY}/issues/(\\d+)/comments$`), listComments],
    ['POST', new RegExp(`^${REPOSITORY}/issues/(\\d+)/comments$`), writeComment],
    ['PATCH', new RegExp(`^${REPOSITORY}/issues/comments/(\\d+)$`), changeComment],
    ['POST', new RegExp(`^${REPOSITORY}/statuses/([0-9a-f]{40})$`), setStatus],
  ],
  notFound: NOT_FOUND,
};
