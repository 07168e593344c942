import type { ListenAddress } from '../../../server/listen-address.ts';

/** The webhook of an agent. */
export interface WebhookSettings {
  readonly listen: ListenAddress;
  /** Names of the MutatingWebhookConfiguration, and in the agent's namespace of the Service and the Secret. */
  readonly configuration: string;
  readonly service: string;
  readonly secret: string;
  /** Image of the container that is added to Pods; absent: the image of this version. */
  readonly image?: string | undefined;
  /** The container is added as a native sidecar. */
  readonly native: boolean;
  /** Life of its own certificate authority in seconds. */
  readonly caLifeSeconds: number;
  /** Files that another program renews; absent: the agent makes its own. */
  readonly files?:
    | { readonly certFile: string; readonly keyFile: string; readonly caFile?: string | undefined }
    | undefined;
}
