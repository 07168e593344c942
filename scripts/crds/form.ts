/** A column of `kubectl get`. */
export interface Column {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'date' | 'boolean';
  readonly jsonPath: string;
  /** 1: only with `-o wide`. */
  readonly priority?: number;
}

/** What a CEL rule is hung on: the fields down to a schema (`[]` for the items of a list), empty for the object itself. */
export interface Rule {
  readonly at: readonly string[];
  readonly rule: string;
  readonly message: string;
  readonly fieldPath?: string;
}

/** What a CustomResourceDefinition says beyond its schema and the row of its kind. */
export interface CustomForm {
  /** Where in the schema's file the form of the custom resource stands; the whole file if left out. */
  readonly definition?: string;
  readonly columns: readonly Column[];
  /** Lists of texts in which none stands twice, and of which several managers may each own some. */
  readonly sets: readonly (readonly string[])[];
  readonly additions?: readonly Addition[];
  /** Fields of the object in which each field may be null, and means its zero value then, as for Protocol Buffers. */
  readonly takesNulls?: readonly string[];
  readonly rules: readonly Rule[];
}

/** Keywords of a schema for API servers only: the decoder says the same in the words of Kuma. */
export interface Addition {
  readonly at: readonly string[];
  readonly keywords: Readonly<Record<string, unknown>>;
}
