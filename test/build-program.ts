import { programMain } from './program.ts'

/** Builds what the tests run before the first of them, so that no test waits for it. */
export default function setup(): void {
  programMain()
}
