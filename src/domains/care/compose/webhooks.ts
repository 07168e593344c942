import type { DocumentsRequest, FoundDocuments } from '../../../compose/documents.ts';
import type { Diagnostic } from '../../../model/fleet/diagnostic.ts';
import { parseApiVersion } from '../../../model/objects/object-key.ts';
import { problemOfWebhook, webhookConfigurationKinds } from '../../../model/objects/webhooks/problematic.ts';
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  objectOf,
  objectsOf,
  textOf,
} from '../../../model/text/json.ts';
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

/** Judges the webhook configurations in files and folders, which `find` finds. */
export async function judgeWebhooks(
  request: Omit<DocumentsRequest, 'isWanted'>,
  find: (request: DocumentsRequest) => Promise<FoundDocuments>,
): Promise<JudgedWebhooks> {
  const { documents, diagnostics } = await find({ ...request, isWanted: isConfiguration });
  return { configurations: documents.map(({ value, at }) => judgeConfiguration(value, at)), diagnostics };
}

function isConfiguration(value: JsonValue): value is JsonObject {
  if (!isJsonObject(value)) return false;
  const version = parseApiVersion(textOf(value.apiVersion));
  const kinds: readonly string[] = webhookConfigurationKinds;
  return version.ok && version.value.group === 'admissionregistration.k8s.io' && kinds.includes(textOf(value.kind));
}

function judgeConfiguration(configuration: JsonObject, at: string): JudgedConfiguration {
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
