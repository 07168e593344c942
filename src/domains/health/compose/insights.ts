import { readFile as readBytes } from 'node:fs/promises';
import type { InputFile } from '../../../compose/render/domain-render.ts';
import type { Declared } from '../../../engine/fleet/declared.ts';
import { defaultDecodeLimits } from '../../../manifest/limits.ts';
import { type FieldProblem, fieldError } from '../../../manifest/problem.ts';
import { inOrder, readFile } from '../../../manifest/read-file.ts';
import { diagnosticOf } from '../../../model/fleet/diagnostic.ts';
import { quote } from '../../../model/fleet/ids.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../model/text/json.ts';
import { errorText } from '../../../model/text/messages.ts';
import { parseRfc3339 } from '../../../model/text/time.ts';
import { type StreamState, streamOfSubscriptions } from '../model/dataplane-health.ts';

/**
 * Reads the DataplaneInsights of a file, in the flat form that Kuma uses outside Kubernetes: which declared data planes are
 * connected. One with an error is left out, and one of a data plane that no file declares is warned of. Rejects with a text for
 * people if the file cannot be read.
 *
 * @param file the file on disk
 * @param path its path for diagnostics
 */
export async function readInsights(file: string, path: string): Promise<InputFile> {
  const bytes = await readBytes(file).catch((error: unknown) => {
    throw new Error(`the insights in ${path} cannot be read: ${errorText(error)}`);
  });
  const { documents, findings, place } = readFile(path, bytes, defaultDecodeLimits);
  const streams = new Map<string, StreamState>();
  const found = documents.flatMap((document) => {
    const problems = problemsOf(document.value);
    if (problems.length === 0) {
      const { mesh = 'default', name, subscriptions } = document.value as JsonObject;
      const key = `${String(mesh)}/${String(name)}`;
      if (streams.has(key))
        problems.push(fieldError('DeclaredTwice', ['name'], `${key} has two DataplaneInsights; the first one counts`));
      else streams.set(key, streamOfSubscriptions(subscriptions) ?? { connected: false });
    }
    return problems.map((problem) => place(document, problem));
  });
  return {
    stage: ({ domainInputs }) => {
      for (const [key, stream] of streams) domainInputs.health?.connections?.set('', key, stream);
    },
    findings: ({ declarations }) => {
      const declared = new Set(
        [...declarations.entries('Dataplane')].map(({ value }) => {
          const { mesh, name } = (value as Declared<'Dataplane'>).value.dataplane;
          return `${mesh}/${name}`;
        }),
      );
      const unknown = [...streams.keys()].filter((key) => !declared.has(key));
      return [...inOrder([...findings, ...found]), ...unknown.map((key) => undeclared(key, path))];
    },
  };
}

function undeclared(key: string, path: string) {
  return diagnosticOf({
    severity: 'warning',
    reason: 'WrongValue',
    message: `no Dataplane ${key} is declared: its DataplaneInsight has no effect`,
    at: { path },
  });
}

function problemsOf(value: JsonValue): FieldProblem[] {
  if (!isJsonObject(value))
    return [fieldError('WrongType', [], 'a document must be a mapping with type: DataplaneInsight')];
  const { type, mesh, name, subscriptions = null } = value;
  const problems: FieldProblem[] = [];
  if (type !== 'DataplaneInsight') {
    const message = `the type must be DataplaneInsight${typeof type === 'string' ? `, not ${quote(type)}` : ''}`;
    problems.push(fieldError('WrongValue', ['type'], message));
  }
  if (typeof name !== 'string' || name === '') problems.push(fieldError('MissingField', ['name'], 'name is missing'));
  if (mesh !== undefined && typeof mesh !== 'string')
    problems.push(fieldError('WrongType', ['mesh'], 'mesh must be text'));
  if (subscriptions !== null && !Array.isArray(subscriptions)) {
    problems.push(fieldError('WrongType', ['subscriptions'], 'subscriptions must be a list'));
  }
  for (const [index, one] of (Array.isArray(subscriptions) ? subscriptions : []).entries()) {
    problems.push(...problemsOfSubscription(one, index));
  }
  return problems;
}

function problemsOfSubscription(one: JsonValue, index: number): readonly FieldProblem[] {
  const at = ['subscriptions', index];
  if (!isJsonObject(one)) return [fieldError('WrongType', at, 'a subscription must be a mapping')];
  return ['connectTime', 'disconnectTime'].flatMap((field) => {
    const time = one[field];
    const isRight =
      time === undefined || time === null || (typeof time === 'string' && parseRfc3339(time) !== undefined);
    const message = `${field} must be an RFC 3339 time with a zone, as 2026-01-31T10:42:07Z`;
    return isRight ? [] : [fieldError('BadTime', [...at, field], message)];
  });
}
