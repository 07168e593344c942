import { engineKindIds, engineKindRow } from '../../src/model/engine-kinds.ts';
import { between } from './marks.ts';

/** The text with the table of engine kinds between its two marks made anew. Throws if the marks are not there. */
export function withKindsTable(text: string): string {
  const rows = engineKindIds.map((id) => {
    const { group, versions, kind, purpose, isCustomResource } = engineKindRow(id);
    const apiVersions = versions.map((version) => `\`${group}/${version}\``).join(', ');
    const from = isCustomResource ? 'git, files, custom resources' : 'git, files';
    return `| [\`${kind}\`](../reference/kinds/${kind.toLowerCase()}.md) | ${apiVersions} | ${purpose} | ${from} |`;
  });
  return between(
    text,
    'kinds',
    ['| kind | version | what it does | read from |', '|---|---|---|---|', ...rows, '', ''].join('\n'),
  );
}
