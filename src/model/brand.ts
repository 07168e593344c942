declare const brand: unique symbol;

/** A string or number that only a parser at the edge can make: the type says which check it has passed. */
export type Brand<Base, Name extends string> = Base & { readonly [brand]: Name };
