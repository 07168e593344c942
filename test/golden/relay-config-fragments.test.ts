import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { expect, it } from 'vitest';
import schema from '../../schemas/relay-config.json' with { type: 'json' };
import { decodeRelayConfig } from '../../src/manifest/relay-config.ts';
import { isJsonObject, type JsonValue } from '../../src/model/text/json.ts';

/** Pages show parts of a RelayConfig. Each part is one that the server takes. */

const PROJECT = join(import.meta.dirname, '../..');
const FIELDS = new Set(Object.keys(schema.properties));
const REST = {
  fleet: { name: 'shop' },
  sources: [{ name: 'main', git: { url: 'https://git.example.com/fleet.git' } }],
};

interface Fragment {
  readonly page: string;
  readonly value: JsonValue;
}

// The pages of rules show wrong documents, too.
const PAGES = globSync('docs/**/*.md', { cwd: PROJECT, exclude: ['docs/reference/rules/**'] });

const fragments = PAGES.flatMap((page) =>
  [...readFileSync(join(PROJECT, page), 'utf8').matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].flatMap(
    ([, text = '']): readonly Fragment[] => {
      const value = text.includes('\n---') ? null : (load(text) as JsonValue);
      const isPart = isJsonObject(value) && !('kind' in value) && Object.keys(value).every((name) => FIELDS.has(name));
      return isPart ? [{ page, value }] : [];
    },
  ),
);

it.each(fragments)('the fragment of $page', ({ page, value }) => {
  const config = { apiVersion: 'fleetrelay.dev/v1alpha1', kind: 'RelayConfig', ...REST, ...(value as object) };
  const { diagnostics } = decodeRelayConfig(page, new TextEncoder().encode(JSON.stringify(config)));
  expect(diagnostics).toEqual([]);
});

it('several pages show some', () => {
  const pages = new Set(fragments.map(({ page }) => page));
  expect([...pages]).toEqual(expect.arrayContaining(['docs/guides/people.md', 'docs/guides/pull-requests.md']));
});
