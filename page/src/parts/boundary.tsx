import { Component, type ComponentChildren } from 'preact';

import { explainError } from '../store';
import { Text } from './text';

/** Shows an error of a part of the page in its place; the rest goes on. */
export class Boundary extends Component<{ what: string; children: ComponentChildren }, { error: unknown }> {
  override state = { error: null as unknown };

  override componentDidCatch(error: unknown): void {
    this.setState({ error });
  }

  override render() {
    if (this.state.error === null) return this.props.children;
    return (
      <p class="failed" role="alert">
        <Text text={`${this.props.what} can’t be shown: ${explainError(this.state.error)}`} />
      </p>
    );
  }
}
