import { createBytesReader } from '../../../compose/validate/file-bytes.ts';
import { bytesOf, listInputs } from '../../../compose/validate/inputs.ts';
import type { ValidationRequest } from '../../../compose/validate/report.ts';
import { checkDocuments } from '../../../manifest/decode-file.ts';
import { defaultDecodeLimits } from '../../../manifest/limits.ts';
import { type Finding, inOrder, readFile } from '../../../manifest/read-file.ts';
import { type Diagnostic, diagnosticOf, displayLocation } from '../../../model/diagnostic.ts';
import { isJsonObject, type JsonObject, type JsonValue, objectOf, objectsOf, textOf } from '../../../model/json.ts';
import { parseApiVersion } from '../../../model/object-key.ts';
import { problemOfWebhook, webhookConfigurationKinds } from '../../../model/webhooks/problematic.ts';
import { decoders } from '../../decoders.ts';
import { remediateConfiguration } from '../model/remediate.ts';

/** What is judged of a webhook configuration. */
export interface JudgedConfiguration {
  readonly kind: string;
  readonly name: string;
  /** `PATH:LINE` */
  readonly at: string;
  readonly webhooks: readonly { readonly name: string; readonly problematic: boolean }[];
  /** Whether the remediator would change it. */
  readonly changed: boolean;
  /** As one run of the remediator leaves it. */
  readonly remediated: JsonObject;
}

/** The webhook configurations of a request, in the order of its files. */
export interface JudgedWebhooks {
  readonly configurations: readonly JudgedConfiguration[];
  /** Errors of files that cannot be read. */
  readonly diagnostics: readonly Diagnostic[];
}

/** Judges the webhook configurations in files and folders, which are found and read as `validate` does. */
export async function judgeWebhooks(
  request: Pick<ValidationRequest, 'paths' | 'cwd' | 'readStdin'>,
): Promise<JudgedWebhooks> {
  const read = createBytesReader();
  const { files, refused, failed } = await listInputs(request, read);
  const diagnostics: Diagnostic[] = [...refused, ...failed];
  const configurations: JudgedConfiguration[] = [];
  for (const input of files) {
    const { name: path } = input;
    const content = bytesOf(input, read);
    if (!content.ok) {
      const reason = content.isTooLarge ? 'FileTooLarge' : 'FileUnreadable';
      diagnostics.push(diagnosticOf({ severity: 'error', reason, message: content.reason, at: { path } }));
      continue;
    }
    const file = readFile(path, content.bytes, defaultDecodeLimits);
    const findings: Finding[] = [...file.findings];
    for (const { document, path: field, value } of checkDocuments(file, OPTIONS, findings)) {
      if (!isConfiguration(value)) continue;
      const { line } = file.locate(document, field, 'value');
      configurations.push(judge(value, displayLocation({ path, ...(line === undefined ? {} : { line }) })));
    }
    diagnostics.push(...inOrder(findings).filter(({ severity }) => severity === 'error'));
  }
  return { configurations, diagnostics };
}

const OPTIONS = { decoders, limits: defaultDecodeLimits, fixes: false };

function isConfiguration(value: JsonValue): value is JsonObject {
  if (!isJsonObject(value)) return false;
  const version = parseApiVersion(textOf(value.apiVersion));
  const kinds: readonly string[] = webhookConfigurationKinds;
  return version.ok && version.value.group === 'admissionregistration.k8s.io' && kinds.includes(textOf(value.kind));
}

function judge(configuration: JsonObject, at: string): JudgedConfiguration {
  const { configuration: remediated, changes } = remediateConfiguration(configuration);
  return {
    kind: textOf(configuration.kind),
    name: textOf(objectOf(configuration.metadata).name),
    at,
    webhooks: objectsOf(configuration.webhooks).map((webhook) => ({
      name: textOf(webhook.name),
      problematic: problemOfWebhook(webhook) !== undefined,
    })),
    changed: changes.length > 0,
    remediated,
  };
}
