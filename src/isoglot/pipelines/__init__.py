"""Whole jobs made of the rooms above: align a pair, several languages, compare methods, audit, fine-tune."""

from isoglot.pipelines.align import align as align
from isoglot.pipelines.align_pair import align_pair as align_pair
from isoglot.pipelines.alignment_checks import Check as Check, CheckOutcome as CheckOutcome
from isoglot.pipelines.audit import audit_encoder as audit_encoder, expected_megabytes as expected_megabytes
from isoglot.pipelines.audit_report import Audit as Audit, Figure as Figure, write_audit_page as write_audit_page
from isoglot.pipelines.automatic import (
    choice_lines as choice_lines,
    estimated_time as estimated_time,
    without_figure as without_figure,
)
from isoglot.pipelines.compare import Contender as Contender, compare as compare, contenders as contenders
from isoglot.pipelines.compare_pairs import Comparisons as Comparisons, compare_pairs as compare_pairs
from isoglot.pipelines.comparison import Comparison as Comparison, Row as Row
from isoglot.pipelines.comparison_files import write_comparison as write_comparison
from isoglot.pipelines.contextual import (
    align_and_test as align_and_test,
    held_out_words as held_out_words,
    judge_translations as judge_translations,
    search_sentences as search_sentences,
)
from isoglot.pipelines.contextual_pairs import (
    PAIRS_FOLDER as PAIRS_FOLDER,
    ContextualPairs as ContextualPairs,
    TokenisedPairs as TokenisedPairs,
    extract_pairs as extract_pairs,
    extract_to as extract_to,
)
from isoglot.pipelines.demo import run_demo as run_demo
from isoglot.pipelines.demo_search import run_search_demo as run_search_demo
from isoglot.pipelines.encoder_alignment import (
    ALIGN_PRESETS as ALIGN_PRESETS,
    align_encoder as align_encoder,
    tokenise as tokenise,
)
from isoglot.pipelines.finetune_encoder import Finetuned as Finetuned, finetune as finetune
from isoglot.pipelines.induction import check_inducer as check_inducer, check_learner as check_learner
from isoglot.pipelines.joint import (
    VARIANTS as VARIANTS,
    JointJob as JointJob,
    check_directions as check_directions,
    choose_gamma as choose_gamma,
    joint_align as joint_align,
    run_stages as run_stages,
    space_of as space_of,
    split_tests as split_tests,
    warnings_of as warnings_of,
)
from isoglot.pipelines.joint_report import look_at as look_at, write_joint_page as write_joint_page
from isoglot.pipelines.load import load as load
from isoglot.pipelines.pivot import align_to_pivot as align_to_pivot
from isoglot.pipelines.search import (
    Answer as Answer,
    Line as Line,
    SearchText as SearchText,
    encode_lines as encode_lines,
)
from isoglot.pipelines.small_data import few_words as few_words
from isoglot.pipelines.static_alignment import (
    StaticAlignment as StaticAlignment,
    align_static as align_static,
    remove_work as remove_work,
)
from isoglot.pipelines.static_job import CRITERIA as CRITERIA
from isoglot.pipelines.suites import Suite as Suite, suite as suite
from isoglot.pipelines.training_cost import duration as duration, estimate as estimate
from isoglot.pipelines.training_figures import Evaluation as Evaluation
from isoglot.pipelines.training_run import (
    Fine as Fine,
    fine_tune as fine_tune,
    prepare as prepare,
    resume_recipe as resume_recipe,
)
