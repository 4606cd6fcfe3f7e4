/** A function or method that expressions may call. */
export interface CelFunction {
  /** As `list<T>.sum(): T`. */
  signature: string
  call: (...args: never[]) => unknown
  /** It stands for one of the library that behaves otherwise. */
  replaces?: true
}

/** A type of values that expressions may hold, with its fields where it has some. */
export interface CelType {
  name: string
  ctor: new (...args: never[]) => object
  fields?: Readonly<Record<string, string>>
}

/** What a function was given is not what it takes. */
export class CelValueError extends Error {
  override name = 'CelValueError'
}
