import type { Reporter, TestModule } from 'vitest/node'
import { leftOut } from './components.ts'

/** Ends the output with the plain counts, after what was missing for the suites that were skipped. */
export default class SummaryReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[]): void {
    const counts = { passed: 0, failed: 0, skipped: 0 }
    for (const module of modules) {
      for (const group of [module, ...module.children.allSuites()])
        if (group.errors().length > 0) counts.failed++
      for (const { result } of [...module.children.allTests()].map((test) => ({
        result: test.result().state,
      }))) {
        if (result === 'passed' || result === 'failed' || result === 'skipped') counts[result]++
      }
    }
    counts.failed += errors.length
    process.on('exit', () => {
      const { passed, failed, skipped } = counts
      for (const { missing } of leftOut()) process.stdout.write(`skipped: ${missing}\n`)
      process.stdout.write(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}\n`)
    })
  }
}
