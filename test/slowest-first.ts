import { BaseSequencer, type TestSpecification } from 'vitest/node'

const PROJECTS = ['cluster', 'slow', 'slow, own process', 'own process', 'fast']

/** Runs the cluster and the slow project first. Vitest itself sorts by the durations of the last run, which a fresh machine does not have. */
export class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const place = ({ project }: TestSpecification) => PROJECTS.indexOf(project.name)
    return sorted.toSorted((a, b) => place(a) - place(b))
  }
}
