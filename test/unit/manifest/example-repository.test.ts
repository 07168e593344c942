import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { validatePaths } from '../../../src/compose/validate/validate.ts';
import type { DocumentContent } from '../../../src/model/fleet/desired.ts';
import { type EngineKind, engineKindIds } from '../../../src/model/fleet/engine-kinds.ts';
import { decodeFile } from '../../support/decode-file.ts';

const folder = 'examples/repo';

function contents() {
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.yaml'));
  return paths.sort().flatMap((path) => {
    const { reading } = decodeFile(path, readFileSync(`${folder}/${path}`), '');
    return reading.readable ? reading.documents.map(({ content }) => ({ path, content })) : [];
  });
}

function isKind<Kind extends EngineKind>(
  content: DocumentContent,
  kind: Kind,
): content is Extract<DocumentContent, { readonly kind: Kind }> {
  return content.type === 'declaration' && content.kind === kind;
}

describe('examples/repo', () => {
  it('is valid, without so much as a warning', async () => {
    const readStdin = () => Promise.reject(new Error('no standard input is read'));
    const report = await validatePaths({ paths: [folder], cwd: process.cwd(), readStdin });
    expect(report).toMatchObject({ files: 16, documents: 19, diagnostics: [] });
  });

  it('shows every kind that is read', () => {
    const kinds = contents().map(({ content }) => (content.type === 'declaration' ? content.kind : content.type));
    // A RemovalApproval is written when a guard holds something.
    const shown = engineKindIds.filter((id) => id !== 'RemovalApproval');
    expect([...new Set(kinds)].sort()).toEqual([...shown, 'object'].sort());
    expect(contents().flatMap(({ content }) => (isKind(content, 'KubernetesCluster') ? [content.name] : []))).toEqual([
      'east',
      'edge',
      'west',
    ]);
  });

  it('has an application whose removal is more than its policy lets pass', () => {
    const shop = contents().filter(({ path }) => path.startsWith('apps/shop/'));
    const [policy] = contents().flatMap(({ content }) => (isKind(content, 'FleetPolicy') ? [content.value] : []));
    expect(shop).toHaveLength(4);
    expect(policy?.guards.maxRemovalsPerCluster).toBe(3);
  });
});
