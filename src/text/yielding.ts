import { setImmediate as turn } from 'node:timers/promises'

/** Long enough to get on, short enough that nobody waits for it. */
const SLICE_MS = 10

/** Work of many steps that gives the event loop back between slices of them: `if (timeSlice.isDue()) await timeSlice.take()`. */
export class TimeSlice {
  #sinceMs = performance.now()

  isDue(): boolean {
    return performance.now() - this.#sinceMs >= SLICE_MS
  }

  async take(): Promise<void> {
    await turn()
    this.#sinceMs = performance.now()
  }
}

/** `items.map(make)`, in slices. */
export async function mapInSlices<Item, Made>(
  items: Iterable<Item>,
  make: (item: Item, index: number) => Made,
): Promise<Made[]> {
  const timeSlice = new TimeSlice()
  const made: Made[] = []
  for (const item of items) {
    if (timeSlice.isDue()) await timeSlice.take()
    made.push(make(item, made.length))
  }
  return made
}

/** What a generator returns, with slices of its steps: it yields where it may be left. */
export async function runInSlices<Made>(steps: Generator<void, Made>): Promise<Made> {
  const timeSlice = new TimeSlice()
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
    if (timeSlice.isDue()) await timeSlice.take()
  }
}

/** The same without yielding. */
export function runSynchronously<Made>(steps: Generator<void, Made>): Made {
  for (;;) {
    const step = steps.next()
    if (step.done) return step.value
  }
}
