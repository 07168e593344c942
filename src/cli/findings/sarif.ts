import { pathToFileURL } from 'node:url';
import { type Diagnostic, type FindingReason, sentenceOf } from '../../model/fleet/diagnostic.ts';
import { findings } from '../../model/fleet/findings.ts';
import { compareText } from '../../model/text/json.ts';
import { printableJson } from '../../model/text/printable.ts';
import type { TextOutput } from '../output.ts';
import { nameOf, type Placed, pathFromRoot, placed, type ShownFindings } from './findings.ts';

const PAGES = 'https://fleetrelay.dev/docs/reference/rules';

/** Writes SARIF 2.1.0. https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html */
export function writeSarif(out: TextOutput, shown: ShownFindings): void {
  const found = placed(shown);
  const reasons = [...new Set(found.map(({ diagnostic }) => diagnostic.reason))].sort((a, b) =>
    compareText(findings[a].code, findings[b].code),
  );
  const driver = {
    name: 'fleetrelay',
    semanticVersion: shown.version,
    informationUri: 'https://fleetrelay.dev',
    rules: reasons.map((reason) => ruleOf(reason, found)),
  };
  const run = {
    tool: { driver },
    columnKind: 'utf16CodeUnits',
    originalUriBaseIds: { '%SRCROOT%': { description: { text: 'The root of the repository.' } } },
    results: found.map((each) => resultOf(each, reasons.indexOf(each.diagnostic.reason), shown)),
  };
  const log = { $schema: 'https://json.schemastore.org/sarif-2.1.0.json', version: '2.1.0', runs: [run] };
  out.write(`${printableJson(log, 2)}\n`);
}

function ruleOf(reason: FindingReason, found: readonly Placed[]) {
  const { code, meaning } = findings[reason];
  const isError = found.some(({ diagnostic }) => diagnostic.reason === reason && diagnostic.severity === 'error');
  return {
    id: code,
    name: reason,
    shortDescription: { text: meaning },
    help: { text: `\`fleetrelay explain ${code}\` shows an example and what to do.` },
    helpUri: `${PAGES}/${code}.html`,
    defaultConfiguration: { level: isError ? 'error' : 'warning' },
  };
}

function resultOf({ diagnostic, resource, fingerprint }: Placed, ruleIndex: number, shown: ShownFindings) {
  const { code, severity, at } = diagnostic;
  const region = at?.line === undefined ? undefined : { startLine: at.line, startColumn: at.column };
  const named =
    resource === undefined
      ? undefined
      : [{ name: resource.name, fullyQualifiedName: nameOf(resource), kind: 'resource' }];
  const locations =
    at === undefined
      ? []
      : [
          {
            physicalLocation: { artifactLocation: artifactOf(pathFromRoot(shown, at.path)), region },
            logicalLocations: named,
          },
        ];
  return {
    ruleId: code,
    ruleIndex,
    level: severity,
    message: { text: sentenceOf(diagnostic) },
    locations,
    partialFingerprints: { 'fleetrelay/v1': fingerprint },
    fixes: fixesOf(diagnostic, shown),
  };
}

function fixesOf({ fix, at, hint = 'fix it' }: Diagnostic, shown: ShownFindings) {
  if (fix === undefined || at === undefined) return undefined;
  const replacements = fix.map(({ start, end, text }) => ({
    deletedRegion: { charOffset: start, charLength: end - start },
    insertedContent: { text },
  }));
  const artifactLocation = artifactOf(pathFromRoot(shown, at.path));
  return [{ description: { text: hint }, artifactChanges: [{ artifactLocation, replacements }] }];
}

function artifactOf(path: string): { readonly uri: string; readonly uriBaseId?: string } {
  if (path.startsWith('/') || /^[A-Za-z]:/.test(path)) return { uri: pathToFileURL(path).href };
  return { uri: path.split('/').map(encodeURIComponent).join('/'), uriBaseId: '%SRCROOT%' };
}
