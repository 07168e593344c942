import { objectOf } from '../../../model/text/json.ts';
import type { ApiResource, KubeClient } from './types.ts';

const ANSWER_MS = 5_000;
const PATH = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';

/** Whether this user may list and watch a kind in all namespaces. False if the API server does not say so. */
export async function mayFollowEverywhere(client: KubeClient, { group, resource }: ApiResource): Promise<boolean> {
  const answers = await Promise.all(
    ['list', 'watch'].map((verb) =>
      client.request({
        method: 'POST',
        path: PATH,
        timeoutMs: ANSWER_MS,
        body: {
          apiVersion: 'authorization.k8s.io/v1',
          kind: 'SelfSubjectAccessReview',
          spec: { resourceAttributes: { group, resource, verb } },
        },
      }),
    ),
  );
  return answers.every((answer) => answer.type === 'ok' && objectOf(answer.body.status).allowed === true);
}
