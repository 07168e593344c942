import type { ObjectKey } from '../../../model/objects/object-key.ts';
import type { JsonObject } from '../../../model/text/json.ts';
import type { ResourceEvent } from '../../../ports/resource-status.ts';
import type { WebhookChange } from '../model/remediate.ts';

/**
 * The webhook configurations of a cluster, for the remediator. The stop button and the leadership are checked immediately
 * before each change. Only `load` and `save` reject.
 */
export interface WebhookConfigurations {
  /** Reads a configuration as it is now. */
  read(key: ObjectKey): Promise<ConfigurationRead>;
  /** Sets these fields and the annotation in a configuration that has not changed since it was read. */
  change(judged: LiveConfiguration, change: ConfigurationChange): Promise<ConfigurationOutcome>;
  /** Writes an Event about a configuration; lost without harm. */
  event(about: LiveConfiguration, event: ResourceEvent): Promise<void>;
  /** The record that `save` has kept; undefined: there is none, or it is damaged. Rejects if the cluster does not answer. */
  load(): Promise<JsonObject | undefined>;
  /** Keeps a small record in the cluster, durable when it resolves. Rejects if that fails, or another process has written it. */
  save(record: JsonObject): Promise<void>;
}

/** A configuration as it was read. */
export interface LiveConfiguration {
  readonly key: ObjectKey;
  /** As the API server has it. */
  readonly value: JsonObject;
  /** Fleetrelay applies it. */
  readonly isOurs: boolean;
  /** The field manager that has set a field of a webhook, besides the remediator; else the last one that wrote at all. */
  writerOf(webhook: string, field: WebhookChange['field']): string;
}

export type ConfigurationRead =
  | { readonly type: 'found'; readonly configuration: LiveConfiguration }
  | { readonly type: 'gone' }
  | Refused;

export interface ConfigurationChange {
  readonly changes: readonly WebhookChange[];
  /** Text of the annotation that tells what was done. */
  readonly warning: string;
  /** The API server judges the request and stores nothing. */
  readonly dryRun: boolean;
}

/**
 * `conflict`: it has changed since it was read, or is gone. `hindered`: the stop button is on, or another replica leads.
 * `unanswered`: the request may have been carried out.
 */
export type ConfigurationOutcome =
  | { readonly type: 'changed' | 'conflict' | 'hindered' }
  | { readonly type: 'unanswered'; readonly message: string }
  | Refused;

/** The API server does not do it. `isForbidden`: the right is missing. */
export interface Refused {
  readonly type: 'refused';
  readonly isForbidden: boolean;
  readonly message: string;
}
