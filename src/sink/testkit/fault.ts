/** A sink does not do what the contract says; the message tells what it did. */
export class ConformanceFault extends Error {
  override name = 'ConformanceFault'
}

/** Throws a fault unless it is so. */
export function expect(isSo: boolean, fault: string | (() => string)): asserts isSo {
  if (!isSo) throw new ConformanceFault(typeof fault === 'string' ? fault : fault())
}

/** Ends a check that cannot be made here. */
export class Skip extends Error {
  override name = 'Skip'
}

export function skip(why: string): never {
  throw new Skip(why)
}
