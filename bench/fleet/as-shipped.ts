/** How the server is run where it is deployed. */
import { readFileSync } from 'node:fs';
import { load } from 'js-yaml';

const STATEFUL_SET = new URL('../../deploy/kustomize/management-server/stateful-set.yaml', import.meta.url);

interface StatefulSet {
  readonly spec: {
    readonly template: {
      readonly spec: {
        readonly containers: readonly { readonly env: readonly { readonly name: string; readonly value?: string }[] }[];
      };
    };
  };
}

/** The variables of its container that are the same everywhere. */
export function serverSettings(): Readonly<Record<string, string>> {
  const { spec } = load(readFileSync(STATEFUL_SET, 'utf8')) as StatefulSet;
  const variables = spec.template.spec.containers.flatMap(({ env }) => env);
  return Object.fromEntries(variables.flatMap(({ name, value }) => (value === undefined ? [] : [[name, value]])));
}
