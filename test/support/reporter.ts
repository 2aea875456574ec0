import { DefaultReporter, type TestCase, type TestModule } from 'vitest/node'

const SLOWEST = 10
/** Without a terminal, which shows a live count, print a progress line after this many test files. */
const FILES_PER_LINE = 25

/** Test reporter that prints failures, progress, the slowest files and totals, but no line per passed file. */
export default class Reporter extends DefaultReporter {
  #seconds = new Map<string, number>()
  #tests = 0

  protected override printTestModule(module: TestModule): void {
    if (module.state() === 'failed') super.printTestModule(module)
  }

  protected override printTestCase(state: ReturnType<TestModule['state']>, test: TestCase): void {
    if (test.result().state === 'failed') super.printTestCase(state, test)
  }

  protected override printTestSuite(): void {}

  override onTestModuleEnd(module: TestModule): void {
    super.onTestModuleEnd(module)
    const { collectDuration, duration } = module.diagnostic()
    this.#seconds.set(`${module.relativeModuleId} (${module.project.name})`, (collectDuration + duration) / 1000)
    for (const _ of module.children.allTests()) this.#tests += 1
    const files = this.#seconds.size
    if (!this.isTTY && files % FILES_PER_LINE === 0) this.log(`${files} files, ${this.#tests} tests`)
  }

  override reportTestSummary(...summary: Parameters<DefaultReporter['reportTestSummary']>): void {
    const slowest = [...this.#seconds].sort(([, a], [, b]) => b - a).slice(0, SLOWEST)
    this.log('Slowest files:')
    for (const [file, seconds] of slowest) this.log(`${seconds.toFixed(1).padStart(7)} s  ${file}`)
    super.reportTestSummary(...summary)
  }
}
