/** Limits the rows of a view; a view ignores what does not apply to it. */
export interface ViewFilter {
  readonly mesh?: string;
  readonly cluster?: string;
  /** One inbound must have all of these tags. */
  readonly tags?: Readonly<Record<string, string>>;
}
