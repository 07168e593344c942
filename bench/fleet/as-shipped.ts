/** How server and agent are run where they are deployed. */
import { readFileSync } from 'node:fs';
import { load } from 'js-yaml';

const AGENT = new URL('../../deploy/kustomize/agent/deployment.yaml', import.meta.url);
const STATEFUL_SET = new URL('../../deploy/kustomize/management-server/stateful-set.yaml', import.meta.url);

interface Workload {
  readonly spec: {
    readonly template: {
      readonly spec: {
        readonly containers: readonly { readonly env: readonly { readonly name: string; readonly value?: string }[] }[];
      };
    };
  };
}

/** The variables of the server's container that are the same everywhere. */
export function serverSettings(): Readonly<Record<string, string>> {
  return variablesOf(STATEFUL_SET);
}

/** The variables of the agent's container that are the same everywhere. */
export function agentSettings(): Readonly<Record<string, string>> {
  return variablesOf(AGENT);
}

function variablesOf(manifest: URL): Readonly<Record<string, string>> {
  const { spec } = load(readFileSync(manifest, 'utf8')) as Workload;
  const variables = spec.template.spec.containers.flatMap(({ env }) => env);
  return Object.fromEntries(variables.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]])));
}
